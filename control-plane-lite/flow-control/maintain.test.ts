import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { autoUpdateKey, flowDefaults } from './defaults.ts';
import { decideMaintenance } from './maintain.ts';

const KEY = autoUpdateKey(VOCABULARIES.kubernetes);
const { levels, schemas } = flowDefaults(VOCABULARIES.kubernetes);
const named = (name: string) => {
  const found = levels.find(({ metadata }) => metadata?.name === name);
  if (found === undefined) throw new Error(`no level ${name}`);
  return found;
};

test('the annotation has upstream’s key', () =>
  expect(KEY).toBe(`apf.${VOCABULARIES.kubernetes.domain}/autoupdate-spec`));

test('missing objects are created, current ones stay', () => {
  expect(decideMaintenance([], schemas, KEY)).toEqual(schemas.map((object) => ({ kind: 'create', object })));
  expect(decideMaintenance(schemas, schemas, KEY)).toEqual([]);
});

describe('an object', () => {
  const OTHER = { type: 'Limited', limited: { assuredConcurrencyShares: 1 } };
  interface Row {
    readonly name?: string;
    readonly annotation?: string;
    readonly generation?: number;
    readonly spec?: object;
    readonly expected: string;
  }
  test.each<[string, Row]>([
    ['suggested, of servers, current', { annotation: 'true', expected: '' }],
    [
      'suggested, of servers, changed',
      { annotation: 'true', generation: 2, spec: OTHER, expected: 'spec true' },
    ],
    ['suggested, of users', { annotation: 'false', spec: OTHER, expected: '' }],
    ['suggested, unmarked, never changed', { generation: 1, expected: 'true' }],
    ['suggested, unmarked, never changed, of another release', { spec: OTHER, expected: 'spec true' }],
    ['suggested, unmarked, changed', { generation: 2, spec: OTHER, expected: 'false' }],
    [
      'suggested, marked wrongly, changed',
      { annotation: 'x', generation: 2, spec: OTHER, expected: 'false' },
    ],
    ['mandatory, of users', { name: 'catch-all', annotation: 'false', spec: OTHER, expected: 'spec true' }],
    ['mandatory, unmarked', { name: 'catch-all', generation: 7, expected: 'true' }],
  ])('%s', (_, { name = 'system', annotation, generation = 1, spec, expected }) => {
    const object = named(name);
    const annotations = annotation === undefined ? {} : { [KEY]: annotation };
    const live = { metadata: { name, uid: 'u', generation, annotations }, spec: spec ?? object.spec ?? {} };
    const changes = decideMaintenance([live], [object], KEY);
    const shown = changes.map((change) =>
      change.kind === 'update'
        ? `${change.spec === undefined ? '' : 'spec '}${change.annotation}`
        : change.kind,
    );
    expect(shown.join()).toBe(expected);
  });

  test.each([
    ['true', [{ kind: 'delete', name: 'old', uid: 'u' }]],
    ['false', []],
    [undefined, []],
  ])('that is no default, marked %s', (annotation, expected) => {
    const annotations = annotation === undefined ? {} : { [KEY]: annotation };
    const live = { metadata: { name: 'old', uid: 'u', annotations }, spec: {} };
    expect(decideMaintenance([live], [], KEY)).toEqual(expected);
  });
});
