/** Requests with as many members, items or operations as fit into a body, of every kind that the server reads, and
 *  reads and changes of what they stored. In this order: what is kept first is there for those after it. */
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Random } from '../../testing/random.ts';
import { sample } from '../../testing/rounds.ts';
import type { WideAsk } from './stall.ts';
import { type Asks, ask, get, ITEMS, KEPT_KEYS, KEYS, list, members, named } from './wide-parts.ts';

/** Number of operations in a JSON patch, just below the maximum. */
const OPERATIONS = 9999;

/** Common building blocks of all requests. */
function partsOf(words: Vocabulary, namespace: string) {
  const core = `/api/v1/namespaces/${namespace}`;
  const maps = `${core}/configmaps`;
  const customs = `/apis/fuzz.example.com/v2/namespaces/${namespace}/samples`;
  const reviews = `/apis/authorization.${words.apiGroupDomain}/v1/selfsubjectaccessreviews`;
  const dry = 'dryRun=All';
  const custom = (rest: string, name = 'wide'): string =>
    `{"apiVersion":"fuzz.example.com/v2","kind":"Sample",${named(name, `"spec":{"size":1,${rest}}`).slice(1)}`;
  const map = (data: string, name = 'wide'): string => named(name, `"data":${data}`);
  const applied = (data: string, name: string): string =>
    `{"apiVersion":"v1","kind":"ConfigMap",${map(data, name).slice(1)}`;
  const table = `application/json;as=Table;g=meta.${words.apiGroupDomain};v=v1`;
  const env = Array.from({ length: 20_000 }, (_, index) => ({ name: `E${index}`, value: 'a' }));
  const pod = (spec: object, metadata: object = {}): string =>
    JSON.stringify({
      metadata: { name: 'wide', ...metadata },
      spec: { containers: [{ name: 'c', image: 'i', ...spec }] },
    });
  const kept = `${maps}/kept`;
  const merge = 'application/merge-patch+json';
  const strategic = 'application/strategic-merge-patch+json';
  const operations = (value: (index: number) => object): string =>
    JSON.stringify(Array.from({ length: OPERATIONS }, (_, index) => value(index)));
  const force = 'fieldManager=wide&force=true';
  const apply = 'application/apply-patch+yaml';
  return {
    maps,
    customs,
    core,
    reviews,
    dry,
    custom,
    map,
    applied,
    table,
    env,
    pod,
    kept,
    merge,
    strategic,
    operations,
    force,
    apply,
  };
}

type Parts = ReturnType<typeof partsOf>;
const keptObjects = ({ maps, customs, map, custom }: Parts): Asks => [
  ['kept map', ask('POST', maps, map(members(KEPT_KEYS, '"v"'), 'kept'))],
  ['kept custom', ask('POST', customs, custom(`"free":${members(KEPT_KEYS, '1')}`, 'kept'))],
];

function creates({
  maps,
  customs,
  core,
  reviews,
  dry,
  custom,
  map,
  env,
  pod,
  force,
  applied,
  apply,
}: Parts): Asks {
  return [
    ['wide map', ask('POST', `${maps}?${dry}`, map(members(KEYS, '""')))],
    ['wide map of numbers', ask('POST', `${maps}?${dry}`, map(members(KEYS, '1')))],
    ['wide map of bad keys', ask('POST', `${maps}?${dry}`, map(members(KEYS, '""').replaceAll('"a', '"/')))],
    [
      'wide map with a key twice',
      ask('POST', `${maps}?${dry}`, map(`${members(KEYS, '""').slice(0, -1)},"aaa":""}`)),
    ],
    [
      'wide map with an error at its end',
      ask('POST', `${maps}?${dry}`, map(`${members(KEYS, '""').slice(0, -1)},}`)),
    ],
    ['wide secret', ask('POST', `${core}/secrets?${dry}`, map(members(KEYS, '""')))],
    [
      'wide secret of texts',
      ask('POST', `${core}/secrets?${dry}`, named('wide', `"stringData":${members(KEYS, '""')}`)),
    ],
    [
      'wide labels',
      ask('POST', `${maps}?${dry}`, `{"metadata":{"name":"wide","labels":${members(KEYS, '""')}}}`),
    ],
    [
      'wide annotations',
      ask('POST', `${maps}?${dry}`, `{"metadata":{"name":"wide","annotations":${members(KEYS, '""')}}}`),
    ],
    ['wide unknown members', ask('POST', `${maps}?${dry}`, named('wide', members(KEYS, '1').slice(1, -1)))],
    [
      'wide managed fields',
      ask(
        'POST',
        `${maps}?${dry}`,
        `{"metadata":{"name":"wide","managedFields":[{"manager":"a","operation":"Update","apiVersion":"v1","time":"2020-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":${members(200_000, '{}').replaceAll(/"(....?)":/g, '"f:$1":')}}}]}}`,
      ),
    ],
    [
      'wide finalizers',
      ask('POST', `${maps}?${dry}`, `{"metadata":{"name":"wide","finalizers":${list(500_000, '"a/b"')}}}`),
    ],
    [
      'wide owners',
      ask(
        'POST',
        `${maps}?${dry}`,
        `{"metadata":{"name":"wide","ownerReferences":${list(ITEMS - 100, '{}')}}}`,
      ),
    ],
    ['wide body of objects', ask('POST', `${maps}?${dry}`, list(ITEMS, '{}'))],
    ['wide custom members', ask('POST', `${customs}?${dry}`, custom(`"free":${members(KEYS, '1')}`))],
    [
      'wide custom members of objects',
      ask('POST', `${customs}?${dry}`, custom(`"free":${members(KEYS, '{}')}`)),
    ],
    [
      'wide custom objects',
      ask('POST', `${customs}?${dry}`, custom(`"free":{"a":${list(ITEMS - 100, '{}')}}`)),
    ],
    [
      'wide custom small objects',
      ask('POST', `${customs}?${dry}`, custom(`"free":{"a":${list(380_000, '{"a":1}')}}`)),
    ],
    ['wide custom unknown', ask('POST', `${customs}?${dry}`, custom(`"either":${members(KEYS, '1')}`))],
    ['wide custom items', ask('POST', `${customs}?${dry}`, custom(`"items":${list(ITEMS - 100, '{}')}`))],
    ['wide custom set', ask('POST', `${customs}?${dry}`, custom(`"set":${list(700_000, '"a"')}`))],
    ['wide custom map', ask('POST', `${customs}?${dry}`, custom(`"map":${members(KEYS, '[]')}`))],
    ['wide environment', ask('POST', `${core}/pods?${dry}`, pod({ env }))],
    [
      'wide empty environment',
      ask('POST', `${core}/pods?${dry}`, pod({ env: [{}] }).replace('[{}]', list(ITEMS - 100, '{}'))),
    ],
    [
      'wide containers',
      ask(
        'POST',
        `${core}/pods?${dry}`,
        `{"metadata":{"name":"wide"},"spec":{"containers":${list(ITEMS - 100, '{}')}}}`,
      ),
    ],
    [
      'wide arguments',
      ask('POST', `${core}/pods?${dry}`, pod({ args: [''] }).replace('[""]', list(1_000_000, '""'))),
    ],
    [
      'wide review',
      ask(
        'POST',
        reviews,
        `{"spec":{"nonResourceAttributes":{"path":"/","verb":"get"}},"status":{"a":${list(ITEMS - 100, '{}')}}}`,
      ),
    ],
    ['wide apply', ask('PATCH', `${maps}/wide?${force}&${dry}`, applied(members(KEYS, '""'), 'wide'), apply)],
  ];
}

function changesOfKept({
  customs,
  dry,
  map,
  applied,
  kept,
  merge,
  strategic,
  operations,
  force,
  apply,
}: Parts): Asks {
  return [
    ['wide map without a manager', ask('PUT', `${kept}?${dry}`, map(members(KEYS, '""'), 'kept'))],
    [
      'wide apply over kept',
      ask('PATCH', `${kept}?${force}&${dry}`, applied(members(KEYS, '""'), 'kept'), apply),
    ],
    [
      'narrow apply over kept',
      ask('PATCH', `${kept}?${force}&${dry}`, applied('{"aaa":"other"}', 'kept'), apply),
    ],
    [
      'wide apply with conflicts',
      ask('PATCH', `${kept}?fieldManager=wide&${dry}`, applied(members(KEPT_KEYS, '"w"'), 'kept'), apply),
    ],
    ['wide merge patch', ask('PATCH', `${kept}?${dry}`, `{"data":${members(250_000, '"w"')}}`, merge)],
    [
      'wide removing merge patch',
      ask('PATCH', `${kept}?${dry}`, `{"data":${members(220_000, 'null')}}`, merge),
    ],
    ['narrow merge patch over kept', ask('PATCH', `${kept}?${dry}`, '{"data":{"aaa":"w"}}', merge)],
    ['narrow merge patch', ask('PATCH', kept, '{"data":{"aaa":"w"}}', merge)],
    [
      'wide strategic patch',
      ask('PATCH', `${kept}?${dry}`, `{"data":${members(250_000, '"w"')}}`, strategic),
    ],
    [
      'wide custom merge patch',
      ask('PATCH', `${customs}/kept?${dry}`, `{"spec":{"free":${members(KEYS, '2')}}}`, merge),
    ],
    [
      'wide JSON patch of tests',
      ask(
        'PATCH',
        `${kept}?${dry}`,
        operations(() => ({ op: 'test', path: '/metadata/name', value: 'kept' })),
        'application/json-patch+json',
      ),
    ],
    [
      'wide JSON patch of additions',
      ask(
        'PATCH',
        `${kept}?${dry}`,
        operations((index) => ({ op: 'add', path: `/data/z${index}`, value: '' })),
        'application/json-patch+json',
      ),
    ],
    [
      'wide JSON patch of copies',
      ask(
        'PATCH',
        `${kept}?${dry}`,
        operations((index) => ({ op: 'copy', from: '/metadata', path: `/data/z${index}` })),
        'application/json-patch+json',
      ),
    ],
    [
      'wide JSON patch of a value',
      ask(
        'PATCH',
        `${kept}?${dry}`,
        `[{"op":"replace","path":"/data","value":${members(250_000, '"w"')}}]`,
        'application/json-patch+json',
      ),
    ],
    [
      'wide empty JSON patch',
      ask('PATCH', `${kept}?${dry}`, list(ITEMS, '{}'), 'application/json-patch+json'),
    ],
    ['the same kept map', ask('PUT', kept, map(members(KEPT_KEYS, '"v"'), 'kept'))],
    ['another kept map', ask('PUT', kept, map(members(KEPT_KEYS, '"w"'), 'kept'))],
  ];
}

const readsOfKept = ({ maps, kept, table }: Parts, words: Vocabulary): Asks => [
  ['the kept map', get(kept, 'application/json')],
  ['the kept map as YAML', get(kept, 'application/yaml')],
  ['the kept map in protobuf', get(kept, words.protobufContentType)],
  ['the kept map for people', get(`${kept}?pretty=true`, 'application/json')],
  ['the kept map as a table', get(kept, table)],
  ['the kept maps', get(maps, 'application/json')],
  ['the kept maps as YAML', get(maps, 'application/yaml')],
  ['the kept maps as a table', get(maps, table)],
  ['a watch of the kept maps', get(`${maps}?watch=true&resourceVersion=0`, 'application/json')],
  [
    'a watch of the kept maps in protobuf',
    get(`${maps}?watch=true&resourceVersion=0`, words.protobufContentType),
  ],
];

const ends = ({ kept, customs }: Parts): Asks => [
  ['the end of the kept map', ask('DELETE', kept, '')],
  ['the end of the kept custom', ask('DELETE', `${customs}/kept`, '')],
];

/** Requests with very many members: those that create the objects of others and delete them, and so many of the rest. */
export function wideAsks(
  words: Vocabulary,
  namespace: string,
  count: number,
  random: Random,
): ReadonlyMap<string, WideAsk> {
  const parts = partsOf(words, namespace);
  const stored = 2 * KEPT_KEYS;
  const about = ([what, one]: Asks[number]): readonly [string, WideAsk] => [what, { ...one, stored }];
  const between = [
    ...creates(parts),
    ...changesOfKept(parts).map(about),
    ...readsOfKept(parts, words).map(about),
  ];
  return new Map<string, WideAsk>([
    ...keptObjects(parts),
    ...sample(between, count, random),
    ...ends(parts).map(about),
  ]);
}
