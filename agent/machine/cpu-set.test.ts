import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { CpuSetError, formatCpuSet, inOrder, parseCpuSet } from './cpu-set.ts';

test.each([
  ['', []],
  ['0', [0]],
  ['0-3,8\n', [0, 1, 2, 3, 8]],
  ['7,1-2', [1, 2, 7]],
])('%j has the CPUs %j', (text, cpus) => {
  expect(inOrder(parseCpuSet(text))).toEqual(cpus);
});

test.each(['a', '1-', '-1', '3-1', '1,,2', '0-99999999', '0-65536', '1 2', '1;2'])(
  '%j is rejected',
  (text) => {
    expect(() => parseCpuSet(text)).toThrow(CpuSetError);
  },
);

test('round-trips', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(300)), (cpus) => {
      const set = new Set(cpus);
      expect(new Set(parseCpuSet(formatCpuSet(set)))).toEqual(set);
    }),
  );
});

test('neighbours are written as a range', () => {
  expect(formatCpuSet(new Set([11, 0, 2, 1, 8, 10]))).toBe('0-2,8,10-11');
});
