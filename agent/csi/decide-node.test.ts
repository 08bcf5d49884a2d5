import { assert, constantFrom, property, subarray, tuple } from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Node } from '#api/gen/core-v1.ts';
import type { CSINodeDriver } from '#api/gen/storage-v1.ts';
import { driverEntry, driverSteps, migrationAnnotation, newCsiNode, nodeChange } from './decide-node.ts';

const RULES = { domain: 'x.io', gates: new Set<string>(), settled: true };
const driver = (name: string, more: Partial<Parameters<typeof driverEntry>[0]> = {}) => ({
  name,
  nodeID: `${name}-id`,
  topology: {},
  maxVolumes: undefined,
  ...more,
});
const entry = (name: string): CSINodeDriver => ({ name, nodeID: `${name}-id` });

describe('driverEntry', () => {
  test('writes the topology keys in order, and the limit', () => {
    expect(driverEntry(driver('d', { topology: { zone: 'a', rack: 'r' }, maxVolumes: 4 }))).toEqual({
      name: 'd',
      nodeID: 'd-id',
      topologyKeys: ['rack', 'zone'],
      allocatable: { count: 4 },
    });
  });

  test('omits absent members', () => {
    expect(driverEntry(driver('d'))).toEqual(entry('d'));
  });
});

describe('driverSteps', () => {
  test.each<[string, readonly CSINodeDriver[], readonly string[], boolean, readonly (readonly string[])[]]>([
    ['changes nothing when all drivers are reported', [entry('a')], ['a'], true, []],
    ['adds a driver that came', [entry('a')], ['a', 'b'], true, [['a-id', 'b-id']]],
    ['takes one out that went', [entry('a'), entry('b')], ['b'], true, [['b-id']]],
    ['leaves one that may only be late', [entry('a'), entry('b')], ['b'], false, []],
    [
      'takes one out before it comes back changed',
      [{ ...entry('a'), nodeID: 'old' }, entry('b')],
      ['a', 'b'],
      true,
      [['b-id'], ['b-id', 'a-id']],
    ],
  ])('%s', (_, before, names, settled, expected) => {
    const steps = driverSteps(
      before,
      names.map((name) => driver(name)),
      { settled },
    );
    expect(steps.map((step) => step.map(({ nodeID }) => nodeID))).toEqual(expected);
  });

  test('a different key order is not a change', () => {
    const before = { ...entry('a'), topologyKeys: ['zone', 'rack'] };
    expect(driverSteps([before], [driver('a', { topology: { rack: 'r', zone: 'z' } })], RULES)).toEqual([]);
  });

  test('no step changes an entry, and the last one is as desired', () => {
    const names = subarray(['a', 'b', 'c', 'd']);
    const ids = constantFrom('1', '2');
    const registered = tuple(names, ids).map(([some, nodeID]) =>
      some.map((name) => driver(name, { nodeID })),
    );
    assert(
      property(registered, registered, (first, second) => {
        const start = first.map(driverEntry);
        let known: readonly CSINodeDriver[] = start;
        for (const step of driverSteps(start, second, RULES)) {
          for (const { name, nodeID } of step) {
            const same = known.find((before) => before.name === name);
            expect(same === undefined || same.nodeID === nodeID).toBe(true);
          }
          known = step;
        }
        const byName = (entries: readonly CSINodeDriver[]) =>
          new Map(entries.map((each) => [each.name, each]));
        expect(byName(known)).toEqual(byName(second.map(driverEntry)));
      }),
    );
  });
});

describe('newCsiNode', () => {
  test('is owned by its node, and lists the migrated plugins', () => {
    const made = newCsiNode({ metadata: { name: 'n1', uid: 'u1' } }, 'storage.x.io/v1', {
      ...RULES,
      gates: new Set(['CSIMigration', 'CSIMigrationAWS']),
    });
    expect(made.metadata).toEqual({
      name: 'n1',
      annotations: {
        'storage.alpha.x.io/migrated-plugins': 'x.io/aws-ebs,x.io/azure-disk,x.io/cinder',
      },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u1' }],
    });
    expect(made.spec.drivers).toEqual([]);
  });

  test('lists no migrated plugins where migration is disabled', () => {
    expect(Object.values(migrationAnnotation(RULES))).toEqual(['']);
  });
});

describe('nodeChange', () => {
  const IDS = 'csi.volume.x.io/nodeid';
  const node = (labels = {}, annotations = {}): Node => ({ metadata: { name: 'n1', labels, annotations } });

  test('sets topology labels and driver node IDs', () => {
    const drivers = [driver('b', { topology: { rack: 'r' } }), driver('a')];
    expect(nodeChange(node(), drivers, RULES)).toEqual({
      change: { labels: { rack: 'r' }, annotations: { [IDS]: '{"a":"a-id","b":"b-id"}' } },
      misplaced: [],
    });
  });

  test('returns no change for an up-to-date node', () => {
    const registered = node({ rack: 'r' }, { [IDS]: '{"a":"a-id"}' });
    expect(nodeChange(registered, [driver('a', { topology: { rack: 'r' } })], RULES).change).toBeUndefined();
  });

  test.each([
    ['labels of the node', node({ rack: 'other' }), [driver('a', { topology: { rack: 'r' } })], ['a']],
    [
      'another driver',
      node(),
      [driver('a', { topology: { rack: 'r' } }), driver('b', { topology: { rack: 's' } })],
      ['b'],
    ],
  ])('a driver that conflicts with %s is misplaced, and not reported', (_, given, drivers, misplaced) => {
    const found = nodeChange(given, drivers, RULES);
    expect(found.misplaced).toEqual(misplaced);
    expect(found.change?.annotations[IDS] ?? '').not.toContain(misplaced[0]);
  });

  test.each([
    ['removes the annotation once the drivers are gone', true, { labels: {}, annotations: { [IDS]: null } }],
    ['retains them while drivers may only be late', false, undefined],
  ])('%s', (_, settled, change) => {
    expect(nodeChange(node({}, { [IDS]: '{"a":"a-id"}' }), [], { ...RULES, settled }).change).toEqual(change);
  });
});
