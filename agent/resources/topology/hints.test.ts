import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decideTopology,
  isNarrower,
  maskOf,
  nodesIn,
  type ProviderHints,
  type TopologyHint,
  type TopologyPolicy,
} from './hints.ts';

const BOTH = maskOf([0, 1]);
const on = (nodes: readonly number[], preferred = true): TopologyHint => ({
  nodes: maskOf(nodes),
  preferred,
});
const EITHER = [on([0]), on([1]), on([0, 1], false)];

describe('a container', () => {
  test.each<[string, TopologyPolicy, readonly ProviderHints[], TopologyHint, boolean]>([
    ['is admitted unchecked', 'none', [{ cpu: [] }], { nodes: undefined, preferred: false }, true],
    ['goes where CPUs and device meet', 'restricted', [{ cpu: EITHER }, { gpu: [on([1])] }], on([1]), true],
    ['goes to the first of equal nodes', 'best-effort', [{ cpu: EITHER }], on([0]), true],
    [
      'is taken anyhow where they do not meet',
      'best-effort',
      [{ cpu: [on([0])] }, { gpu: [on([1])] }],
      on([0, 1], false),
      true,
    ],
    [
      'is rejected where they do not meet',
      'restricted',
      [{ cpu: [on([0])] }, { gpu: [on([1])] }],
      on([0, 1], false),
      false,
    ],
    [
      'may have both nodes where nothing less is possible',
      'restricted',
      [{ cpu: [on([0, 1])] }],
      on([0, 1]),
      true,
    ],
    ['must have one node', 'single-numa-node', [{ cpu: [on([0, 1])] }], on([0, 1], false), false],
    ['has one node', 'single-numa-node', [{ cpu: EITHER }, { gpu: [on([1])] }], on([1]), true],
    [
      'goes anywhere without a request',
      'single-numa-node',
      [{ cpu: undefined }],
      { nodes: undefined, preferred: true },
      true,
    ],
    ['rejects an unsatisfiable request', 'restricted', [{ gpu: [] }], on([0, 1], false), false],
  ])('%s (%s)', (_, policy, providers, hint, admit) => {
    expect(decideTopology(policy, providers, BOTH)).toEqual({ hint, admit });
  });
});

const arbitraryHints = fc.array(
  fc.record({ nodes: fc.integer({ min: 1, max: 15 }), preferred: fc.boolean() }),
  { minLength: 1, maxLength: 4 },
);

test('finds a preferred intersection if one exists', () => {
  fc.assert(
    fc.property(fc.array(arbitraryHints, { minLength: 1, maxLength: 3 }), (all) => {
      const providers = all.map((hints, i) => ({ [`r${i}`]: hints }));
      const meets = (rest: readonly (readonly TopologyHint[])[], nodes: number): boolean => {
        const [first, ...others] = rest;
        if (first === undefined) return nodes !== 0;
        return first.some((hint) => hint.preferred && meets(others, nodes & (hint.nodes ?? 15)));
      };
      expect(decideTopology('restricted', providers, 15).admit).toBe(meets(all, 15));
    }),
  );
});

test('fewer nodes are narrower, then lower ones', () => {
  expect([isNarrower(4, 3), isNarrower(3, 4), isNarrower(1, 2), isNarrower(2, 1)]).toEqual([
    true,
    false,
    true,
    false,
  ]);
  expect(nodesIn(maskOf([0, 3]))).toEqual([0, 3]);
});
