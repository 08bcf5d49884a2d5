import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseFieldSelector } from '#api/meta/field-selectors.ts';
import type { CacheChange, CachedObject } from '../contract.ts';
import { compileSelection, type NamedSelection } from '../state/selection.ts';
import { createWatchLanes } from './watch-groups.ts';

const object = (namespace: string, name: string, node: string): CachedObject => {
  const facts: Partial<CachedObject> = {
    namespace,
    name,
    key: `${namespace}/${name}`,
    labels: {},
    fields: { 'spec.nodeName': node, 'metadata.name': name },
  };
  return facts as CachedObject;
};

const names = fc.constantFrom('p', 'q');
const nodes = fc.constantFrom('', 'n1', 'n2');
const spaces = fc.constantFrom('a', 'b');
const changes = fc.array(
  fc.tuple(spaces, names, nodes, fc.option(nodes)).map(([space, name, node, before]): CacheChange => {
    const current = object(space, name, node);
    return before === null
      ? { type: 'ADDED', current }
      : { type: 'MODIFIED', current, previous: object(space, name, before) };
  }),
  { maxLength: 20 },
);
const selections: fc.Arbitrary<NamedSelection> = fc.oneof(
  fc
    .constantFrom(
      '',
      'spec.nodeName=n1',
      'spec.nodeName=',
      'spec.nodeName!=n1',
      'metadata.name=p,spec.nodeName=n2',
    )
    .map((text) => ({ labels: [], fields: parseFieldSelector(text) })),
  fc.record({ namespace: spaces, labels: fc.constant([]), fields: fc.constant([]) }),
  fc.record({ namespace: spaces, name: names, labels: fc.constant([]), fields: fc.constant([]) }),
);

describe('lanes of watches', () => {
  test('skip no watch, and preserve the order', () => {
    fc.assert(
      fc.property(fc.array(selections, { maxLength: 8 }), changes, (all, happened) => {
        const lanes = createWatchLanes<number>();
        for (const [index, selection] of all.entries()) lanes.add(selection, index);
        const sorted = lanes.sort(happened);
        for (const [index, selection] of all.entries()) {
          const matches = compileSelection(selection) ?? (() => true);
          const wants = ({ current, previous }: CacheChange): boolean =>
            matches(current) || (previous !== undefined && matches(previous));
          const got = sorted.get(index) ?? [];
          expect(got.filter(wants)).toEqual(happened.filter(wants));
        }
      }),
    );
  });

  test('concern the watches of the nodes that a pod leaves and comes to, of a thousand', () => {
    const lanes = createWatchLanes<number>();
    const of = (node: number): NamedSelection => ({
      labels: [],
      fields: parseFieldSelector(`spec.nodeName=n${node}`),
    });
    for (let node = 0; node < 1000; node += 1) lanes.add(of(node), node);
    const bound: CacheChange = {
      type: 'MODIFIED',
      current: object('a', 'p', 'n7'),
      previous: object('a', 'p', ''),
    };
    const unbound: CacheChange = {
      type: 'MODIFIED',
      current: object('a', 'p', 'n7'),
      previous: object('a', 'p', 'n7'),
    };
    expect([...lanes.sort([bound, unbound])]).toEqual([[7, [bound, unbound]]]);
    lanes.remove(of(7), 7);
    expect(lanes.sort([bound]).size).toBe(0);
  });
});
