import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Container, Pod } from '#api/gen/core-v1.ts';
import { formatCpuSet, parseCpuSet } from '../../machine/cpu-set.ts';
import { createTopology } from '../../machine/cpu-topology.ts';
import { maskOf } from '../topology/hints.ts';
import {
  assignCpus,
  type CpuAssignment,
  CpuRefusal,
  cpuHints,
  exclusiveCpus,
  releasePods,
  type StaticPolicy,
  sharedCpus,
} from './static-policy.ts';

/** Two NUMA nodes of two cores with two threads: 0 and 4 share a core; node 0 has 0, 1, 4, 5. */
const TOPOLOGY = createTopology(
  Array.from({ length: 8 }, (_, cpu) => {
    const core = cpu % 4;
    const numa = core < 2 ? 0 : 1;
    return { cpu, core, numa, socket: numa };
  }),
);
const policy = (options: Partial<StaticPolicy['options']> = {}): StaticPolicy => ({
  topology: TOPOLOGY,
  reserved: parseCpuSet('0'),
  options: { fullPcpusOnly: false, distributeAcrossNuma: false, ...options },
});
const assignment = (podUID: string, container: string, cpus: string, init = false): CpuAssignment => ({
  podUID,
  container,
  cpus: parseCpuSet(cpus),
  init,
});
const request = (podUID: string, count: number, more: object = {}): Parameters<typeof assignCpus>[2] => ({
  podUID,
  container: 'c',
  count,
  init: false,
  ...more,
});
const given = (assignments: readonly CpuAssignment[]): string =>
  formatCpuSet(assignments.at(-1)?.cpus ?? new Set());

test.each<[string, object, number]>([
  ['whole CPUs, guaranteed', { limits: { cpu: '2', memory: '1Gi' } }, 2],
  ['said in thousandths', { limits: { cpu: '3000m', memory: '1Gi' } }, 3],
  ['a part of one', { limits: { cpu: '1500m', memory: '1Gi' } }, 0],
  ['not guaranteed', { requests: { cpu: '2' } }, 0],
  ['no request', {}, 0],
])('%s', (_, resources, count) => {
  const container: Container = { name: 'c', resources };
  const pod: Pod = { spec: { containers: [container] } };
  expect(exclusiveCpus(pod, container)).toBe(count);
});

describe('a container', () => {
  test.each<[string, StaticPolicy, readonly CpuAssignment[], Parameters<typeof assignCpus>[2], string]>([
    ['has whole cores, never the reserved one', policy(), [], request('p', 2), '1,5'],
    ['has what others do not have', policy(), [assignment('o', 'c', '1,5')], request('p', 2), '2,6'],
    ['retains what it has', policy(), [assignment('p', 'c', '3')], request('p', 2), '3'],
    [
      'has those of its init container',
      policy(),
      [assignment('p', 'i', '2,6', true)],
      request('p', 2),
      '2,6',
    ],
    [
      'has not those of another pod’s init container',
      policy(),
      [assignment('o', 'i', '1-2,5-6', true)],
      request('p', 2),
      '3,7',
    ],
    ['is on the nodes that it should be on', policy(), [], request('p', 2, { nodes: maskOf([1]) }), '2,6'],
    ['has the rest from elsewhere', policy(), [], request('p', 5, { nodes: maskOf([1]) }), '2-4,6-7'],
    ['is spread evenly', policy({ distributeAcrossNuma: true }), [], request('p', 6), '1-6'],
  ])('%s', (_, how, before, asked, cpus) => {
    expect(given(assignCpus(how, before, asked))).toBe(cpus);
  });

  test.each<[string, StaticPolicy, readonly CpuAssignment[], number, RegExp]>([
    ['more than there are', policy(), [], 8, /requests 8 exclusive CPUs and 7 are free/],
    ['what others have', policy(), [assignment('o', 'c', '1-7')], 1, /requests 1 .* and 0 are free/],
    ['half a core', policy({ fullPcpusOnly: true }), [], 3, /not full cores: a multiple of 2/],
  ])('rejects %s', (_, how, before, count, message) => {
    expect(() => assignCpus(how, before, request('p', count))).toThrow(CpuRefusal);
    expect(() => assignCpus(how, before, request('p', count))).toThrow(message);
  });
});

test('unassigned CPUs are shared, and released ones return to the pool', () => {
  const assignments = [assignment('a', 'c', '1,5'), assignment('b', 'c', '2')];
  expect(formatCpuSet(sharedCpus(policy(), assignments))).toBe('0,3-4,6-7');
  expect(releasePods(assignments, (podUID) => podUID === 'a')).toEqual([assignments[1]]);
});

describe('hints', () => {
  test.each<[string, readonly CpuAssignment[], number, readonly (readonly [readonly number[], boolean])[]]>([
    [
      'name each node that has enough, and both as a way out',
      [],
      2,
      [
        [[0], true],
        [[1], true],
        [[0, 1], false],
      ],
    ],
    [
      'leave out a node where others are',
      [assignment('o', 'c', '2-3,6')],
      2,
      [
        [[0], true],
        [[0, 1], false],
      ],
    ],
    ['prefer both where one could never do', [], 5, [[[0, 1], true]]],
    ['are none where there is not enough', [assignment('o', 'c', '1-7')], 1, []],
    [
      'stay with what it has',
      [assignment('p', 'c', '2,6')],
      2,
      [
        [[1], true],
        [[0, 1], false],
      ],
    ],
    ['are none when the request differs from the assignment', [assignment('p', 'c', '2')], 2, []],
  ])('%s', (_, before, count, expected) => {
    expect(cpuHints(policy(), before, request('p', count))).toEqual(
      expected.map(([nodes, preferred]) => ({ nodes: maskOf(nodes), preferred })),
    );
  });

  test('are undefined in the shared pool', () => {
    expect(cpuHints(policy(), [], request('p', 0))).toBeUndefined();
  });
});

test('no CPU ever has two owners, and the reserved one none', () => {
  const step = fc.record({ pod: fc.nat(4), count: fc.integer({ min: 1, max: 3 }), leave: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      let assignments: readonly CpuAssignment[] = [];
      for (const { pod, count, leave } of steps) {
        if (leave) assignments = releasePods(assignments, (podUID) => podUID === `p${pod}`);
        else assignments = tryAssign(assignments, request(`p${pod}`, count));
        const owned = assignments.flatMap(({ cpus }) => [...cpus]);
        expect(new Set(owned).size).toBe(owned.length);
        expect(owned).not.toContain(0);
        expect(sharedCpus(policy(), assignments).size).toBe(8 - owned.length);
      }
    }),
  );
});

function tryAssign(
  assignments: readonly CpuAssignment[],
  asked: Parameters<typeof assignCpus>[2],
): readonly CpuAssignment[] {
  try {
    return assignCpus(policy(), assignments, asked);
  } catch (thrown) {
    if (thrown instanceof CpuRefusal) return assignments;
    throw thrown;
  }
}
