import { describe, expect, test } from 'vitest';
import type { FlowSchema, PriorityLevelConfiguration } from '#api/gen/flowcontrol-apiserver-v1beta2.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { flowDefaults } from './defaults.ts';
import { danglingCondition, nameOf, planFlows } from './plan.ts';

const defaults = flowDefaults(VOCABULARIES.plat);
const options = { defaults, seats: 600, busy: [] };
const limited = (name: string, assuredConcurrencyShares: number): PriorityLevelConfiguration => ({
  metadata: { name },
  spec: { type: 'Limited', limited: { assuredConcurrencyShares, limitResponse: { type: 'Reject' } } },
});
const schema = (name: string, level: string, matchingPrecedence = 1000): FlowSchema => ({
  metadata: { name },
  spec: { priorityLevelConfiguration: { name: level }, matchingPrecedence },
});

describe('the plan', () => {
  test('of the defaults divides all seats by shares, rounded up', () => {
    const { levels, schemas } = planFlows(defaults, options);
    expect(Object.fromEntries(levels.map(({ object, seats }) => [nameOf(object), seats]))).toEqual({
      exempt: undefined,
      system: 74,
      'node-high': 98,
      'leader-election': 25,
      'workload-high': 98,
      'workload-low': 245,
      'global-default': 49,
      'catch-all': 13,
    });
    expect(schemas.map(nameOf)).toEqual([
      'exempt',
      'probes',
      'system-leader-election',
      'endpoint-controller',
      'workload-leader-election',
      'system-node-high',
      'system-nodes',
      'plat-controller-manager',
      'plat-scheduler',
      `${VOCABULARIES.plat.systemNamespace}-service-accounts`,
      'service-accounts',
      'global-default',
      'catch-all',
    ]);
  });

  test('of nothing has the mandatory objects', () => {
    const { levels, schemas } = planFlows({ levels: [], schemas: [] }, options);
    expect(levels.map(({ object, seats }) => [nameOf(object), seats])).toEqual([
      ['exempt', undefined],
      ['catch-all', 600],
    ]);
    expect(schemas.map(nameOf)).toEqual(['exempt', 'catch-all']);
  });

  test('leaves schemas out that name no level, and levels that are inconsistent', () => {
    const broken = { metadata: { name: 'broken' }, spec: { type: 'Limited' } };
    const plan = planFlows(
      {
        levels: [limited('a', 5), broken],
        schemas: [schema('x', 'a'), schema('y', 'b'), schema('z', 'broken')],
      },
      options,
    );
    expect(plan.levels.map(({ object }) => nameOf(object))).toEqual(['a', 'exempt', 'catch-all']);
    expect(plan.schemas.map(nameOf)).toEqual(['exempt', 'x', 'catch-all']);
  });

  test('a deleted level with requests has its share until it is empty, and no new requests', () => {
    const plan = planFlows(
      { levels: [limited('a', 5)], schemas: [schema('x', 'gone')] },
      { ...options, busy: [limited('gone', 10), limited('a', 7)] },
    );
    expect(plan.levels.map(({ object, seats, quiescing }) => [nameOf(object), seats, quiescing])).toEqual([
      ['a', 150, false],
      ['exempt', undefined, false],
      ['catch-all', 150, false],
      ['gone', 300, true],
    ]);
    expect(plan.schemas.map(nameOf)).toEqual(['exempt', 'catch-all']);
  });
});

describe('the condition Dangling', () => {
  const text = 'This FlowSchema references the PriorityLevelConfiguration object named "a"';
  const missing = {
    type: 'Dangling',
    status: 'True',
    reason: 'NotFound',
    message: `${text} but there is no such object`,
  };
  const found = { type: 'Dangling', status: 'False', reason: 'Found', message: `${text} and it exists` };
  const withCondition = (condition: object): FlowSchema => ({
    ...schema('x', 'a'),
    status: { conditions: [condition] },
  });

  test('says whether the level exists', () => {
    expect(danglingCondition(schema('x', 'a'), [])).toEqual(missing);
    expect(danglingCondition(schema('x', 'a'), [limited('a', 1)])).toEqual(found);
    expect(danglingCondition(withCondition(found), [])).toEqual(missing);
  });

  test('is written once', () => {
    expect(danglingCondition(withCondition(missing), [])).toBeUndefined();
    expect(danglingCondition(withCondition(found), [limited('a', 1)])).toBeUndefined();
  });
});
