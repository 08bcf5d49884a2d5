import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { matchesLabels, selectorRequirements } from '#api/meta/selectors.ts';
import { createLabelIndex } from './label-index.ts';

interface Thing {
  readonly key: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

const value = fc.constantFrom('1', '2', '3');
const labels = fc.dictionary(fc.constantFrom('app', 'tier', 'zone'), value, { maxKeys: 3 });
const things = fc
  .array(fc.record({ namespace: fc.constantFrom('a', 'b'), labels, stays: fc.boolean() }), { maxLength: 30 })
  .map((list) => list.map((thing, index) => ({ ...thing, key: String(index) })));

/** Counts each access to labels. */
function watched(thing: Thing, looks: string[]): Thing {
  return {
    ...thing,
    get labels() {
      looks.push(thing.key);
      return thing.labels;
    },
  };
}

describe('an index of labels', () => {
  test('finds the same objects as a full scan', () => {
    fc.assert(
      fc.property(things, labels, fc.constantFrom('a', 'b'), (all, matchLabels, namespace) => {
        const index = createLabelIndex<Thing>();
        for (const thing of all) index.add(thing);
        for (const thing of all) if (!thing.stays) index.remove(thing);
        const requirements = selectorRequirements({
          matchLabels,
          matchExpressions: [{ key: 'zone', operator: 'NotIn', values: ['3'] }],
        });
        const wanted = all.filter(
          (thing) =>
            thing.stays && thing.namespace === namespace && matchesLabels(requirements, thing.labels),
        );
        const found = index.matching(namespace, requirements).map(({ key }) => key);
        expect([...found].sort()).toEqual(wanted.map(({ key }) => key).sort());
      }),
    );
  });

  test('inspects only objects with the label', () => {
    const index = createLabelIndex<Thing>();
    const looks: string[] = [];
    for (let number = 0; number < 1000; number += 1) {
      const thing = {
        key: String(number),
        namespace: 'a',
        labels: { app: String(number % 100), all: 'yes' },
      };
      index.add(watched(thing, looks));
    }
    looks.length = 0;
    const found = index.matching('a', selectorRequirements({ matchLabels: { all: 'yes', app: '7' } }));
    expect(found).toHaveLength(10);
    expect(looks).toHaveLength(10);
  });

  test('an empty selector matches nothing', () => {
    const index = createLabelIndex<Thing>();
    index.add({ key: '1', namespace: 'a', labels: {} });
    expect(index.matching('a', [])).toEqual([]);
  });
});
