import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Container, Pod } from '#api/gen/core-v1.ts';
import { requestsOf } from '../requests.ts';
import { maskOf, nodesIn, type TopologyHint } from '../topology/hints.ts';
import { type MemoryAssignment, type NodeMemory, useOf } from './node-memory.ts';
import {
  assignMemory,
  type MemoryRequest,
  memoryAmounts,
  memoryHints,
  podMemoryAmounts,
  releaseMemory,
} from './static-memory.ts';

const node = (id: number, allocatable: number, pages = 0): NodeMemory => ({
  id,
  tables: new Map([
    ['memory', { total: allocatable + 10, systemReserved: 10, allocatable }],
    ['hugepages-2Mi', { total: pages, systemReserved: 0, allocatable: pages }],
  ]),
});
const TWO = [node(0, 100), node(1, 100, 50)];
const THREE = [node(0, 100), node(1, 100), node(2, 100)];
const ANYWHERE: TopologyHint = { nodes: undefined, preferred: false };

const request = (podUID: string, memory: number, more: Partial<MemoryRequest> = {}): MemoryRequest => ({
  podUID,
  container: 'c',
  init: false,
  amounts: new Map([['memory', memory]]),
  ...more,
});
const held = (podUID: string, memory: number, nodes: readonly number[], init = false): MemoryAssignment => ({
  podUID,
  container: init ? 'i' : 'c',
  init,
  blocks: [{ type: 'memory', sizeBytes: memory, nodes }],
});

/** Nodes of the last assignment. */
const placed = (assignments: readonly MemoryAssignment[]): string =>
  `${assignments.at(-1)?.blocks[0]?.nodes.join()}`;

const hint = (nodes: readonly number[], preferred = true): TopologyHint => ({
  nodes: maskOf(nodes),
  preferred,
});

describe('a container requests', () => {
  const pod = (...containers: readonly Partial<Container>[]): Pod => ({
    spec: { containers: containers.map((one, i) => ({ name: `c${i}`, ...one })) },
  });
  test.each<[string, Partial<Container>, object]>([
    ['its limits', { resources: { limits: { cpu: '1', memory: '1Ki' } } }, { memory: 1024 }],
    [
      'huge pages beside',
      { resources: { limits: { cpu: '1', memory: '1Ki', 'hugepages-2Mi': '4Mi' } } },
      { memory: 1024, 'hugepages-2Mi': 4_194_304 },
    ],
    ['nothing when it is not guaranteed', { resources: { limits: { memory: '1Ki' } } }, {}],
  ])('%s', (_, container, amounts) => {
    const one = pod(container);
    expect(Object.fromEntries(memoryAmounts(one, one.spec?.containers?.[0] ?? { name: '' }))).toEqual(
      amounts,
    );
  });

  test('the sum of the pod’s containers, or the largest init container', () => {
    const limits = (memory: string) => ({ resources: { limits: { cpu: '1', memory } } });
    const both = pod(limits('1Ki'), limits('2Ki'));
    const initContainers = [{ name: 'i', ...limits('4Ki') }];
    const more: Pod = { spec: { containers: both.spec?.containers ?? [], initContainers } };
    expect(podMemoryAmounts(both, requestsOf(both)).get('memory')).toBe(3072);
    expect(podMemoryAmounts(more, requestsOf(more)).get('memory')).toBe(4096);
  });
});

describe('hints', () => {
  test.each<
    [string, readonly NodeMemory[], readonly MemoryAssignment[], MemoryRequest, readonly TopologyHint[]]
  >([
    [
      'name every node with room, and both',
      TWO,
      [],
      request('p', 60),
      [hint([0]), hint([1]), hint([0, 1], false)],
    ],
    // A node with a single assignment is not part of a group.
    ['keep single nodes single', TWO, [held('o', 60, [0])], request('p', 30), [hint([0]), hint([1])]],
    [
      'keep groups together',
      THREE,
      [held('o', 120, [0, 1])],
      request('p', 30),
      [hint([0, 1], false), hint([2])],
    ],
    ['prefer two nodes where one could never do', TWO, [], request('p', 150), [hint([0, 1])]],
    ['are none without room', TWO, [held('o', 90, [0]), held('q', 90, [1])], request('p', 30), []],
    [
      'look at huge pages too',
      TWO,
      [],
      request('p', 10, {
        amounts: new Map([
          ['memory', 10],
          ['hugepages-2Mi', 50],
        ]),
      }),
      [hint([1]), hint([0, 1], false)],
    ],
    [
      'count what the pod’s init containers leave',
      TWO,
      [held('p', 90, [0], true)],
      request('p', 95),
      [hint([0]), hint([1])],
    ],
  ])('%s', (_, nodes, before, requested, expected) => {
    const found = memoryHints(nodes, before, requested);
    expect(found.toSorted((a, b) => (a.nodes ?? 0) - (b.nodes ?? 0))).toEqual(
      expected.toSorted((a, b) => (a.nodes ?? 0) - (b.nodes ?? 0)),
    );
  });
});

describe('a container', () => {
  test.each<[string, readonly MemoryAssignment[], MemoryRequest, TopologyHint, string]>([
    ['has one node where one will do', [], request('p', 60), ANYWHERE, '0'],
    ['has the node where there is room', [held('o', 60, [0])], request('p', 60), ANYWHERE, '1'],
    ['has the node that suits the rest', [], request('p', 60), hint([1]), '1'],
    ['has more nodes than suit the rest if it must', [], request('p', 150), hint([1], false), '0,1'],
    ['has the nodes of its init container', [held('p', 90, [0], true)], request('p', 95), hint([0]), '0'],
  ])('%s', (_, before, requested, where, nodes) => {
    expect(placed(assignMemory(TWO, before, requested, where))).toBe(nodes);
  });

  test.each<[string, readonly MemoryAssignment[], MemoryRequest, TopologyHint, RegExp]>([
    [
      'more than there is',
      [],
      request('p', 201),
      ANYWHERE,
      /no NUMA nodes have enough memory for container c/,
    ],
    [
      'what others have',
      [held('o', 60, [0]), held('q', 60, [1])],
      request('p', 60),
      ANYWHERE,
      /no NUMA nodes/,
    ],
  ])('rejects %s', (_, before, requested, where, message) => {
    expect(() => assignMemory(TWO, before, requested, where)).toThrow(message);
  });

  test('retains its memory on a restart, and gets none without a request', () => {
    const before = [held('p', 60, [1])];
    expect(assignMemory(TWO, before, request('p', 60), ANYWHERE)).toBe(before);
    expect(assignMemory(TWO, before, request('q', 0, { amounts: new Map() }), ANYWHERE)).toBe(before);
  });

  test('reuses memory of the init container, reserving the larger of both', () => {
    const after = assignMemory(TWO, [held('p', 90, [0], true)], request('p', 60), hint([0]));
    expect(useOf(TWO, after).get(0)?.reserved.get('memory')).toBe(90);
  });
});

test('no node is overcommitted, groups do not mix, and everything is released', () => {
  const step = fc.record({
    pod: fc.nat(5),
    bytes: fc.integer({ min: 1, max: 220 }),
    leave: fc.boolean(),
    init: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const tooWide: (readonly number[])[] = [];
      let assignments: readonly MemoryAssignment[] = [];
      for (const { pod, bytes, leave, init } of steps) {
        if (leave) assignments = releaseMemory(assignments, `p${pod}`);
        else {
          const requested = request(`p${pod}`, bytes, { init, container: init ? 'i' : 'c' });
          const fewest = memoryHints(THREE, assignments, requested).find(({ preferred }) => preferred);
          const before = assignments;
          assignments = tryAssign(assignments, requested);
          const on = assignments.at(-1)?.blocks[0]?.nodes ?? [];
          // As few nodes as possible wherever that is possible.
          if (
            assignments !== before &&
            fewest !== undefined &&
            nodesIn(fewest.nodes ?? 0).length !== on.length
          )
            tooWide.push(on);
        }
        check(assignments);
      }
      expect(tooWide).toEqual([]);
      for (let pod = 0; pod <= 5; pod += 1) assignments = releaseMemory(assignments, `p${pod}`);
      for (const use of useOf(THREE, assignments).values()) {
        expect(use).toEqual({ id: use.id, assignments: 0, group: [use.id], reserved: new Map() });
      }
    }),
  );
});

function check(assignments: readonly MemoryAssignment[]): void {
  const use = useOf(THREE, assignments);
  const booked = [...use.values()].reduce((sum, { reserved }) => sum + (reserved.get('memory') ?? 0), 0);
  const requested = assignments
    .flatMap(({ blocks }) => blocks)
    .reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  // Every hint can be reserved, and reservations never exceed the memory.
  expect(booked).toBe(requested);
  for (const { reserved } of use.values()) expect(reserved.get('memory') ?? 0).toBeLessThanOrEqual(100);
  const groups = new Set(assignments.flatMap(({ blocks }) => blocks.map(({ nodes }) => nodes.join())));
  const named = [...groups].flatMap((group) => group.split(','));
  expect(new Set(named).size).toBe(named.length);
}

function tryAssign(
  assignments: readonly MemoryAssignment[],
  requested: MemoryRequest,
): readonly MemoryAssignment[] {
  try {
    return assignMemory(THREE, assignments, requested, ANYWHERE);
  } catch {
    return assignments;
  }
}
