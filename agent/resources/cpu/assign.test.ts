import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatCpuSet, parseCpuSet } from '../../machine/cpu-set.ts';
import { type CpuTopology, createTopology, groupBy } from '../../machine/cpu-topology.ts';
import { isWholeCores, NotEnoughCpusError, takeDistributed, takePacked } from './assign.ts';

/** Sibling threads are numbered half a machine apart, as most firmware does it. */
function machine(sockets: number, numaPerSocket: number, coresPerNuma: number, threads: number): CpuTopology {
  const cores = sockets * numaPerSocket * coresPerNuma;
  return createTopology(
    Array.from({ length: cores * threads }, (_, cpu) => {
      const core = cpu % cores;
      const numa = Math.floor(core / coresPerNuma);
      return { cpu, core, numa, socket: Math.floor(numa / numaPerSocket) };
    }),
  );
}

/** 0-3 and 8-11 on the first socket, 4-7 and 12-15 on the second; 0 and 8 share a core. */
const TWO_SOCKETS = machine(2, 1, 4, 2);
/** Two NUMA nodes per socket. */
const FOUR_NODES = machine(2, 2, 2, 1);

describe('packed', () => {
  test.each<[string, CpuTopology, string, number, string]>([
    ['a single thread of the first core', TWO_SOCKETS, '0-15', 1, '0'],
    ['both threads of a core', TWO_SOCKETS, '0-15', 2, '0,8'],
    ['a whole socket', TWO_SOCKETS, '0-15', 8, '0-3,8-11'],
    ['a socket and a core beside it', TWO_SOCKETS, '0-15', 10, '0-4,8-12'],
    ['the thread left of a partly used core before a whole core', TWO_SOCKETS, '1-15', 1, '8'],
    ['whole cores before partly used ones, on the socket that is fuller', TWO_SOCKETS, '1-15', 2, '1,9'],
    ['three: a core and the thread that is left', TWO_SOCKETS, '1-15', 3, '1,8-9'],
    ['the fuller socket', TWO_SOCKETS, '0-6,8-14', 2, '4,12'],
    ['everything', TWO_SOCKETS, '0-15', 16, '0-15'],
    ['a NUMA node', FOUR_NODES, '0-7', 2, '0-1'],
    ['a socket of two NUMA nodes', FOUR_NODES, '0-7', 4, '0-3'],
    ['the socket that is whole, though another node comes first', FOUR_NODES, '1-7', 4, '4-7'],
    ['none', TWO_SOCKETS, '0-15', 0, ''],
  ])('takes %s', (_, topology, free, count, taken) => {
    expect(formatCpuSet(takePacked(topology, parseCpuSet(free), count))).toBe(taken);
  });

  test('reports the missing number', () => {
    expect(() => takePacked(TWO_SOCKETS, parseCpuSet('0-2'), 4)).toThrow(
      new NotEnoughCpusError(4, 3).message,
    );
  });

  const anyMachine = fc
    .tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 2 }), fc.integer({ min: 1, max: 4 }))
    .chain(([sockets, numa, cores]) =>
      fc.integer({ min: 1, max: 2 }).map((threads) => machine(sockets, numa, cores, threads)),
    );

  test('takes exactly as many free CPUs, in whole cores where possible', () => {
    fc.assert(
      fc.property(anyMachine, fc.infiniteStream(fc.boolean()), fc.nat(), (topology, bits, seed) => {
        const free = new Set([...topology.all].filter(() => bits.next().value === true));
        const count = free.size === 0 ? 0 : seed % (free.size + 1);
        const taken = takePacked(topology, free, count);
        expect(taken.size).toBe(count);
        expect([...taken].every((cpu) => free.has(cpu))).toBe(true);
        // At most one wholly free core is split, and only for the last thread.
        const torn = [...groupBy(topology, free, 'core').values()].filter(
          (core) =>
            core.length === 2 && core.some((cpu) => taken.has(cpu)) && core.some((cpu) => !taken.has(cpu)),
        );
        expect(torn.length).toBeLessThanOrEqual(1);
      }),
    );
  });
});

describe('distributed', () => {
  test.each<[string, CpuTopology, string, number, number, string]>([
    ['one node where it is enough', TWO_SOCKETS, '0-15', 8, 1, '0-3,8-11'],
    ['both nodes evenly where it is not', TWO_SOCKETS, '0-15', 12, 2, '0-2,4-6,8-10,12-14'],
    ['in whole groups', TWO_SOCKETS, '0-15', 10, 2, '0-2,4-5,8-10,12-13'],
    ['the node that leaves the rest most even', TWO_SOCKETS, '0-6,8-14', 6, 2, '0-2,8-10'],
    ['packed where groups do not come out', TWO_SOCKETS, '0-15', 3, 2, '0-1,8'],
  ])('takes %s', (_, topology, free, count, groupSize, taken) => {
    expect(formatCpuSet(takeDistributed(topology, parseCpuSet(free), count, groupSize))).toBe(taken);
  });
});

test('only even counts yield whole cores', () => {
  expect([1, 2, 3, 4].map((count) => isWholeCores(TWO_SOCKETS, count))).toEqual([false, true, false, true]);
  expect(isWholeCores(FOUR_NODES, 3)).toBe(true);
});
