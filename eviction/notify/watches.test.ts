import { expect, test } from 'vitest';
import type { MemoryLook } from '../observe/observer.ts';
import type { Signal } from '../signals.ts';
import { parseAmount, type Threshold } from '../thresholds.ts';
import { memoryWatches, sameWatches } from './watches.ts';

const MIB = 2 ** 20;
const hard = (signal: Signal, amount: string): Threshold => ({
  signal,
  amount: parseAmount(amount),
  graceMs: 0,
  hard: true,
});
const look = (version: 1 | 2, path: string): MemoryLook => ({
  hierarchy: { version, mountPoint: '/cg' },
  path,
  use: { usageBytes: 500 * MIB, inactiveFileBytes: 50 * MIB, limitBytes: undefined },
  capacityBytes: 1000 * MIB,
});
const THRESHOLDS = [hard('memory.available', '100Mi'), hard('allocatableMemory.available', '10%')];

test('on cgroup v1 a number of use is watched that means too little is left, and stalls', () => {
  const looks = new Map([
    ['memory.available', look(1, '/')],
    ['allocatableMemory.available', look(1, '/pods')],
  ] as const);
  expect(memoryWatches(THRESHOLDS, looks)).toEqual([
    { kind: 'usage', folder: '/cg', bytes: 951 * MIB },
    { kind: 'stall', file: '/proc/pressure/memory' },
    { kind: 'usage', folder: '/cg/pods', bytes: 951 * MIB },
  ]);
});

test('on cgroup v2 stalls are watched, of the machine and of the pods', () => {
  const looks = new Map([
    ['memory.available', look(2, '/')],
    ['allocatableMemory.available', look(2, '/pods')],
  ] as const);
  expect(memoryWatches(THRESHOLDS, looks)).toEqual([
    { kind: 'stall', file: '/proc/pressure/memory' },
    { kind: 'stall', file: '/cg/pods/memory.pressure' },
  ]);
});

test('what was not measured is not watched; the same watches are known', () => {
  const looks = new Map([['memory.available', look(1, '/')]] as const);
  const watches = memoryWatches(THRESHOLDS, looks);
  expect(watches).toHaveLength(2);
  expect(sameWatches(watches, memoryWatches(THRESHOLDS, looks))).toBe(true);
  expect(sameWatches(watches, [])).toBe(false);
});
