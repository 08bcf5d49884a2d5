import { expect, test } from 'vitest';
import type { MemoryReading } from '../observe/observer.ts';
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
const reading = (version: 1 | 2, path: string): MemoryReading => ({
  hierarchy: { version, mountPoint: '/cg' },
  path,
  use: { usageBytes: 500 * MIB, inactiveFileBytes: 50 * MIB, limitBytes: undefined },
  capacityBytes: 1000 * MIB,
});
const THRESHOLDS = [hard('memory.available', '100Mi'), hard('allocatableMemory.available', '10%')];

test('on cgroup v1 usage at the threshold and stalls are watched', () => {
  const readings = new Map([
    ['memory.available', reading(1, '/')],
    ['allocatableMemory.available', reading(1, '/pods')],
  ] as const);
  expect(memoryWatches(THRESHOLDS, readings)).toEqual([
    { kind: 'usage', folder: '/cg', bytes: 951 * MIB },
    { kind: 'stall', file: '/proc/pressure/memory' },
    { kind: 'usage', folder: '/cg/pods', bytes: 951 * MIB },
  ]);
});

test('on cgroup v2 stalls are watched, of the machine and of the pods', () => {
  const readings = new Map([
    ['memory.available', reading(2, '/')],
    ['allocatableMemory.available', reading(2, '/pods')],
  ] as const);
  expect(memoryWatches(THRESHOLDS, readings)).toEqual([
    { kind: 'stall', file: '/proc/pressure/memory' },
    { kind: 'stall', file: '/cg/pods/memory.pressure' },
  ]);
});

test('unmeasured signals are not watched; equal watches are detected', () => {
  const readings = new Map([['memory.available', reading(1, '/')]] as const);
  const watches = memoryWatches(THRESHOLDS, readings);
  expect(watches).toHaveLength(2);
  expect(sameWatches(watches, memoryWatches(THRESHOLDS, readings))).toBe(true);
  expect(sameWatches(watches, [])).toBe(false);
});
