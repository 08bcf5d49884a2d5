import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Extract, extractApi, mergeExtracts } from './others.ts';

const BASE = '/apis/ext.example.com/v1';

const refer = (name: string, kind = 'definitions'): object => ({ $ref: `#/${kind}/${name}` });
const document = (change: object = {}): object => ({
  swagger: '2.0',
  paths: {
    [`${BASE}/widgets`]: {
      get: { responses: { 200: { schema: refer('Widget') } }, parameters: [refer('pretty', 'parameters')] },
    },
    [`${BASE}/broken`]: { get: { responses: { 200: { schema: refer('Gone') } } } },
    [`${BASE}/deeper`]: { get: { schema: refer('Deep') } },
    '/apis/apps/v1/deployments': { get: {} },
    [`${BASE}beta1/others`]: { get: {} },
  },
  definitions: {
    Widget: { properties: { part: refer('Part') } },
    Part: { properties: { whole: refer('Widget') } },
    Deep: refer('Gone'),
    Unused: {},
  },
  parameters: { pretty: { name: 'pretty', in: 'query', type: 'string' } },
  ...change,
});

const namesOf = ({ paths, definitions, parameters }: Omit<Extract, 'hash'>): readonly (readonly string[])[] =>
  [paths, definitions, parameters].map((each) => [...each.keys()].toSorted((a, b) => (a < b ? -1 : 1)));

describe('extractApi', () => {
  test('takes the paths of the API and what they need, and leaves out what leads nowhere', () => {
    const found = extractApi(document(), BASE);
    expect(found && namesOf(found)).toEqual([[`${BASE}/widgets`], ['Part', 'Widget'], ['pretty']]);
  });

  test.each<[string, unknown]>([
    ['no object', 'x'],
    ['another version', document({ swagger: '3.0' })],
    ['no paths', document({ paths: [] })],
    ['nothing of the API', document({ paths: { '/apis/apps/v1/pods': {} } })],
    ['paths that are none', document({ paths: { [`${BASE}/a`]: 7 } })],
    ['references elsewhere', document({ paths: { [`${BASE}/a`]: { $ref: 'https://x.example/y' } } })],
    ['names that are none', document({ paths: { [`${BASE}/a`]: refer('a/b') } })],
    ['definitions that are none', document({ definitions: 3, paths: { [`${BASE}/a`]: refer('Widget') } })],
    ['names of every object', document({ paths: { [`${BASE}/a`]: refer('constructor') } })],
  ])('nothing comes of %s', (_, given) => {
    expect(extractApi(given, BASE)).toBeUndefined();
  });

  test('takes any JSON without harm, and refers to nothing that is not there', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (paths, definitions) => {
        const found = extractApi(
          { swagger: '2.0', paths: { [`${BASE}/a`]: paths, [`${BASE}/b`]: {} }, definitions },
          BASE,
        );
        expect(found?.paths.has(`${BASE}/b`)).toBe(true);
      }),
    );
  });
});

describe('mergeExtracts', () => {
  const extractOf = (part: object, base = BASE): Extract => {
    const made = extractApi(
      { swagger: '2.0', paths: { [`${base}/a`]: { get: refer('Part') } }, definitions: { Part: part } },
      base,
    );
    if (made === undefined) throw new Error('it is one');
    return made;
  };
  const OTHER = '/apis/other.example.com/v1';

  test('of the same thing in two there is one', () => {
    const merged = mergeExtracts([extractOf({ type: 'string' }), extractOf({ type: 'string' }, OTHER)]);
    expect(namesOf(merged)).toEqual([[`${BASE}/a`, `${OTHER}/a`], ['Part'], []]);
  });

  test('of two things with one name the second gets another', () => {
    const merged = mergeExtracts([extractOf({ type: 'string' }), extractOf({ items: refer('Part') }, OTHER)]);
    expect(merged.definitions.get('Part')).toEqual({ type: 'string' });
    expect(merged.definitions.get('Part_v2')).toEqual({ items: refer('Part_v2') });
    expect(merged.paths.get(`${BASE}/a`)).toEqual({ get: refer('Part') });
    expect(merged.paths.get(`${OTHER}/a`)).toEqual({ get: refer('Part_v2') });
  });
});
