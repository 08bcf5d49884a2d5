import { expect, test } from 'vitest';
import type { MemoryReading } from '../observe/observer.ts';
import type { Signal } from '../signals.ts';
import { parseAmount, type Threshold } from '../thresholds.ts';
import { nextCrossingMs } from './nearness.ts';

const MIB = 2 ** 20;
const threshold = (signal: Signal, amount: string, hard = true): Threshold => ({
  signal,
  amount: parseAmount(amount),
  graceMs: 0,
  hard,
});
/** Free part of 1,000 MiB; inactive files do not count as used. */
const reading = (freeMib: number, version: 1 | 2 = 2): MemoryReading => ({
  hierarchy: { version, mountPoint: '/cg' },
  path: '/pods',
  use: { usageBytes: (1050 - freeMib) * MIB, inactiveFileBytes: 50 * MIB, limitBytes: undefined },
  capacityBytes: 1000 * MIB,
});
const NODE = threshold('memory.available', '100Mi');

test.each([
  ['far from it, as long as that takes', [NODE], reading(612), 2000],
  ['near to it, not all the time', [NODE], reading(101), 300],
  ['at it, as near to it', [NODE], reading(100), 300],
  ['beyond it, as nothing more can be crossed', [NODE], reading(99), undefined],
  [
    'not for a soft one, which has time',
    [threshold('memory.available', '100Mi', false)],
    reading(101),
    undefined,
  ],
  ['not where the kernel sends notifications', [NODE], reading(101, 1), undefined],
  ['not of what is not measured', [threshold('allocatableMemory.available', '1Mi')], reading(101), undefined],
])('checks again %s', (_, thresholds, seen, expected) => {
  expect(nextCrossingMs(thresholds, new Map([['memory.available', seen]]))).toBe(expected);
});

test('the nearest of all thresholds counts', () => {
  const pods = threshold('allocatableMemory.available', '500Mi');
  const readings = new Map([
    ['memory.available', reading(612)],
    ['allocatableMemory.available', reading(756)],
  ] as const);
  expect(nextCrossingMs([NODE, pods], readings)).toBe(1000);
});
