/** Requests with as many members, items or operations as fit into a body, of every kind that the server reads, and
 *  reads and changes of what they stored. In this order: what is kept first is there for those after it. */
import { createApiProtobuf } from '#api/protobuf/api-protobuf.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Random } from '../../testing/random.ts';
import { sample } from '../../testing/rounds.ts';
import type { Ask } from './requests.ts';
import {
  type Asks,
  ask,
  BARE_KEYS,
  get,
  ITEMS,
  KEPT_KEYS,
  KEYS,
  list,
  members,
  named,
} from './wide-parts.ts';

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
    pod,
    kept,
    merge,
    strategic,
    operations,
    force,
    apply,
    words,
  };
}

type Parts = ReturnType<typeof partsOf>;
const keptObjects = ({ maps, customs, map, custom }: Parts): Asks => [
  ['kept map', ask('POST', maps, map(members(KEPT_KEYS, '"v"'), 'kept'))],
  ['kept bare map', ask('POST', maps, map('{"aaa":""}', 'bare'))],
  ['kept custom', ask('POST', customs, custom(`"free":${members(KEPT_KEYS, '1')}`, 'kept'))],
];

/** How many of each kind of part a body has. */
interface Counts {
  readonly keys: number;
  /** Keys of a map that is owned as a whole. */
  readonly lone: number;
  readonly items: number;
  readonly fields: number;
  readonly finalizers: number;
  readonly smallObjects: number;
  readonly texts: number;
  readonly arguments: number;
  readonly variables: number;
  /** Terms of a node selector, which are as short as a message can be. */
  readonly terms: number;
  /** The same, of which a body in protobuf may not have so many. */
  readonly messages: number;
  readonly groups: number;
  readonly addresses: number;
}

/** As many as fit into a body. */
const WIDE: Counts = {
  keys: KEYS,
  lone: KEYS,
  items: ITEMS - 100,
  fields: 200_000,
  finalizers: 500_000,
  smallObjects: 380_000,
  texts: 700_000,
  arguments: 1_000_000,
  variables: 20_000,
  terms: ITEMS - 100,
  messages: 1_000_000,
  groups: 1_500_000,
  addresses: 100_000,
};

/** As many as an object may have that is stored. */
const FULL: Counts = {
  keys: KEPT_KEYS,
  lone: 160_000,
  items: 500_000,
  fields: 120_000,
  finalizers: 220_000,
  smallObjects: 180_000,
  texts: 350_000,
  arguments: 780_000,
  variables: 19_000,
  terms: 780_000,
  messages: 240_000,
  groups: 780_000,
  addresses: 90_000,
};

function creates(
  { maps, customs, core, reviews, dry, custom, map, pod, force, applied, apply, words }: Parts,
  counts: Counts,
): Asks {
  const env = Array.from({ length: counts.variables }, (_, index) => ({ name: `E${index}`, value: 'a' }));
  return [
    ['wide map', ask('POST', `${maps}?${dry}`, map(members(counts.keys, '""')))],
    ['wide map of numbers', ask('POST', `${maps}?${dry}`, map(members(counts.keys, '1')))],
    [
      'wide map of bad keys',
      ask('POST', `${maps}?${dry}`, map(members(counts.keys, '""').replaceAll('"a', '"/'))),
    ],
    [
      'wide map with a key twice',
      ask('POST', `${maps}?${dry}`, map(`${members(counts.keys, '""').slice(0, -1)},"aaa":""}`)),
    ],
    [
      'wide map with an error at its end',
      ask('POST', `${maps}?${dry}`, map(`${members(counts.keys, '""').slice(0, -1)},}`)),
    ],
    ['wide secret', ask('POST', `${core}/secrets?${dry}`, map(members(counts.keys, '""')))],
    [
      'wide secret of texts',
      ask('POST', `${core}/secrets?${dry}`, named('wide', `"stringData":${members(counts.keys, '""')}`)),
    ],
    [
      'wide labels',
      ask('POST', `${maps}?${dry}`, `{"metadata":{"name":"wide","labels":${members(counts.keys, '""')}}}`),
    ],
    [
      'wide annotations',
      ask(
        'POST',
        `${maps}?${dry}`,
        `{"metadata":{"name":"wide","annotations":${members(counts.keys, '""')}}}`,
      ),
    ],
    [
      'wide unknown members',
      ask('POST', `${maps}?${dry}`, named('wide', members(counts.keys, '1').slice(1, -1))),
    ],
    [
      'wide managed fields',
      ask(
        'POST',
        `${maps}?${dry}`,
        `{"metadata":{"name":"wide","managedFields":[{"manager":"a","operation":"Update","apiVersion":"v1","time":"2020-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":${members(counts.fields, '{}').replaceAll(/"(....?)":/g, '"f:$1":')}}}]}}`,
      ),
    ],
    [
      'wide finalizers',
      ask(
        'POST',
        `${maps}?${dry}`,
        `{"metadata":{"name":"wide","finalizers":${list(counts.finalizers, '"a/b"')}}}`,
      ),
    ],
    [
      'wide owners',
      ask(
        'POST',
        `${maps}?${dry}`,
        `{"metadata":{"name":"wide","ownerReferences":${list(counts.items, '{}')}}}`,
      ),
    ],
    ['wide body of objects', ask('POST', `${maps}?${dry}`, list(counts.items, '{}'))],
    ['wide custom members', ask('POST', `${customs}?${dry}`, custom(`"free":${members(counts.keys, '1')}`))],
    [
      'wide custom members of objects',
      ask('POST', `${customs}?${dry}`, custom(`"free":${members(counts.keys, '{}')}`)),
    ],
    [
      'wide custom objects',
      ask('POST', `${customs}?${dry}`, custom(`"free":{"a":${list(counts.items, '{}')}}`)),
    ],
    [
      'wide custom small objects',
      ask('POST', `${customs}?${dry}`, custom(`"free":{"a":${list(counts.smallObjects, '{"a":1}')}}`)),
    ],
    [
      'wide custom unknown',
      ask('POST', `${customs}?${dry}`, custom(`"either":${members(counts.keys, '1')}`)),
    ],
    ['wide custom items', ask('POST', `${customs}?${dry}`, custom(`"items":${list(counts.items, '{}')}`))],
    ['wide custom set', ask('POST', `${customs}?${dry}`, custom(`"set":${list(counts.texts, '"a"')}`))],
    ['wide custom map', ask('POST', `${customs}?${dry}`, custom(`"map":${members(counts.keys, '[]')}`))],
    ['wide environment', ask('POST', `${core}/pods?${dry}`, pod({ env }))],
    [
      'wide empty environment',
      ask('POST', `${core}/pods?${dry}`, pod({ env: [{}] }).replace('[{}]', list(counts.items, '{}'))),
    ],
    [
      'wide containers',
      ask(
        'POST',
        `${core}/pods?${dry}`,
        `{"metadata":{"name":"wide"},"spec":{"containers":${list(counts.items, '{}')}}}`,
      ),
    ],
    [
      'wide node selector',
      ask(
        'POST',
        `${core}/pods?${dry}`,
        pod({}).replace('"spec":{', `"spec":{"nodeSelector":${members(counts.lone, '""')},`),
      ),
    ],
    [
      'wide arguments',
      ask('POST', `${core}/pods?${dry}`, pod({ args: [''] }).replace('[""]', list(counts.arguments, '""'))),
    ],
    [
      'wide affinity',
      ask(
        'POST',
        `${core}/pods?${dry}`,
        pod({}).replace(
          '"spec":{',
          `"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":${list(counts.terms, '{}')}}}},`,
        ),
      ),
    ],
    [
      'wide affinity in protobuf',
      {
        ...ask('POST', `${core}/pods?${dry}`, '', words.protobufContentType),
        body: createApiProtobuf(words).encode({
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { name: 'wide' },
          spec: {
            containers: [{ name: 'c', image: 'i' }],
            affinity: {
              nodeAffinity: {
                requiredDuringSchedulingIgnoredDuringExecution: {
                  nodeSelectorTerms: Array.from({ length: counts.messages }, () => ({})),
                },
              },
            },
          },
        }),
      },
    ],
    [
      'wide groups',
      ask(
        'POST',
        `${core}/pods?${dry}`,
        pod({}).replace(
          '"spec":{',
          `"spec":{"securityContext":{"supplementalGroups":${list(counts.groups, '1')}},`,
        ),
      ),
    ],
    [
      'wide addresses',
      ask(
        'POST',
        `${core}/endpoints?${dry}`,
        named(
          'wide',
          `"subsets":[{"addresses":[${Array.from({ length: counts.addresses }, (_, index) => `{"ip":"10.${index >> 16}.${(index >> 8) & 255}.${index & 255}"}`).join()}],"ports":[{"port":1}]}]`,
        ),
      ),
    ],
    [
      'wide review',
      ask(
        'POST',
        reviews,
        `{"spec":{"nonResourceAttributes":{"path":"/","verb":"get"}},"status":{"a":${list(counts.items, '{}')}}}`,
      ),
    ],
    [
      'wide apply',
      ask('PATCH', `${maps}/wide?${force}&${dry}`, applied(members(counts.keys, '""'), 'wide'), apply),
    ],
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

const ends = ({ kept, maps, customs }: Parts): Asks => [
  ['the end of the kept map', ask('DELETE', kept, '')],
  ['the end of the kept bare map', ask('DELETE', `${maps}/bare`, '')],
  ['the end of the kept custom', ask('DELETE', `${customs}/kept`, '')],
];

/** Once nobody owns its fields, an object may have twice as many. */
function growthOfBare({ maps, map, merge, dry, force, apply, applied }: Parts): Asks {
  const bare = `${maps}/bare`;
  return [
    [
      'owners of the bare map',
      ask(
        'PATCH',
        bare,
        '[{"op":"replace","path":"/metadata/managedFields","value":[{}]}]',
        'application/json-patch+json',
      ),
    ],
    ['growth of the bare map', ask('PUT', bare, map(members(BARE_KEYS, '"v"'), 'bare'))],
    ['another bare map', ask('PUT', bare, map(members(BARE_KEYS, '"w"'), 'bare'))],
    ['narrow merge patch over bare', ask('PATCH', bare, '{"data":{"aaa":"x"}}', merge)],
    [
      'narrow apply over bare',
      ask('PATCH', `${bare}?${force}&${dry}`, applied('{"aaa":"other"}', 'bare'), apply),
    ],
    ['the bare map', get(bare, 'application/json')],
  ];
}

/** What undoes the creation or deletion of the objects of others, so that the same request can be measured again. */
export function wideUndoes(words: Vocabulary, namespace: string): ReadonlyMap<string, Ask> {
  const parts = partsOf(words, namespace);
  const begins = keptObjects(parts);
  const ended = ends(parts);
  const pairs = begins.flatMap(([begin, create], index) => {
    const [end, remove] = ended[index] ?? [];
    return end === undefined || remove === undefined
      ? []
      : ([
          [begin, remove],
          [end, create],
        ] as const);
  });
  return new Map<string, Ask>(pairs);
}

/** Requests with very many members: those that create the objects of others and delete them, and so many of the rest. */
export function wideAsks(
  words: Vocabulary,
  namespace: string,
  count: number,
  random: Random,
): ReadonlyMap<string, Ask> {
  const parts = partsOf(words, namespace);
  const between = [
    ...creates(parts, WIDE),
    ...creates(parts, FULL).map(([what, one]) => [what.replace('wide', 'full'), one] as const),
    ...changesOfKept(parts),
    ...readsOfKept(parts, words),
  ];
  const first = [...keptObjects(parts), ...growthOfBare(parts)];
  return new Map<string, Ask>([...first, ...sample(between, count, random), ...ends(parts)]);
}
