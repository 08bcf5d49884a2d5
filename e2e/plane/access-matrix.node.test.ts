/** Access matrix: every path of the server, with every method and identity, is authorized as documented, whatever
 *  the protocol and the content type.
 *
 *  Every path × method × identity is sent over HTTP/1.1 or HTTP/2, and every path × identity as a watch over
 *  WebSocket. The content types are a sample: one path of twenty, another one in each run, is tested with all of them,
 *  the others with one. `TEST_ROUNDS=long` sends all of them everywhere, over both protocols, which takes minutes. */
import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { REMOTE_COMMAND_V4, VOCABULARIES } from '#api/vocabulary.ts';
import { createRandom } from '../../testing/random.ts';
import { ofRound, sample } from '../../testing/rounds.ts';
import { createModel, type Subject } from './access-model.ts';
import { findPlaces, METHODS, type Place } from './access-paths.ts';
import { createWays, type HttpResponse, type Ways } from './access-ways.ts';
import { pod, usePlane } from './support.ts';

const plane = usePlane('plat', async (dir) => {
  const users = [
    'jane-token,jane,1,dev',
    'n1-token,system:node:n1,2,system:nodes',
    'n2-token,system:node:n2,3,system:nodes',
    'root-token,root,4,system:masters',
  ];
  await writeFile(`${dir}/tokens`, `${users.join('\n')}\n`);
  return ['--token-auth-file', `${dir}/tokens`];
});

interface Identity extends Subject {
  readonly token: string;
}

const AUTHENTICATED = 'system:authenticated';
const ACCOUNT = 'system:serviceaccount:default:web';
let identities: readonly Identity[];
let places: readonly Place[];
let ways: Ways;

/** Objects that the pod of the first node references. */
const REFERRED = new Map([
  [
    'n1',
    new Set([
      'secrets/used',
      'configmaps/used',
      'persistentvolumeclaims/used',
      'persistentvolumeclaims/status/used',
      'serviceaccounts/web',
    ]),
  ],
]);

beforeAll(async () => {
  const folder = '/api/v1/namespaces/default';
  const make = async (path: string, body: object): Promise<void> =>
    expect([path, (await plane.post(path, body)).status]).toEqual([path, 201]);
  for (const name of ['n1', 'n2']) await make('/api/v1/nodes', { metadata: { name } });
  await make(`${folder}/serviceaccounts`, { metadata: { name: 'web' } });
  for (const plural of ['secrets', 'configmaps']) {
    await make(`${folder}/${plural}`, { metadata: { name: 'used' } });
    await make(`${folder}/${plural}`, { metadata: { name: 'unused' } });
  }
  await make(`${folder}/persistentvolumeclaims`, {
    metadata: { name: 'used' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } },
  });
  await make(
    `${folder}/pods`,
    pod('web', {
      nodeName: 'n1',
      serviceAccountName: 'web',
      volumes: [
        { name: 's', secret: { secretName: 'used' } },
        { name: 'c', configMap: { name: 'used' } },
        { name: 'p', persistentVolumeClaim: { claimName: 'used' } },
      ],
    }),
  );
  const made = await plane.post(`${folder}/serviceaccounts/web/token`, { spec: {} });
  identities = [
    { name: 'system:anonymous', groups: ['system:unauthenticated'], token: '' },
    { name: 'jane', groups: ['dev', AUTHENTICATED], token: 'jane-token' },
    { name: 'system:node:n1', groups: ['system:nodes', AUTHENTICATED], token: 'n1-token' },
    { name: 'system:node:n2', groups: ['system:nodes', AUTHENTICATED], token: 'n2-token' },
    {
      name: ACCOUNT,
      groups: ['system:serviceaccounts', AUTHENTICATED],
      token: String((made.body.status as { token?: string }).token),
    },
    { name: 'root', groups: ['system:masters', AUTHENTICATED], token: 'root-token' },
  ];
  places = await findPlaces(plane, {
    nodes: ['n1', 'n2'],
    csinodes: ['n1'],
    leases: ['n1'],
    pods: ['web'],
    secrets: ['used', 'unused'],
    configmaps: ['used', 'unused'],
    persistentvolumeclaims: ['used'],
    serviceaccounts: ['web'],
    namespaces: ['default'],
  });
  ways = createWays({ url: plane.server.url, ca: plane.server.credentials().ca });
});
afterAll(() => ways.close());

const PROTOBUF = VOCABULARIES.plat.protobufContentType;
const TYPES = [
  'application/json',
  'application/yaml',
  PROTOBUF,
  'application/merge-patch+json',
  'text/plain',
];
const WITH_BODY = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);
const READ_TYPES = [...TYPES.slice(0, 3), 'application/json;stream=watch', 'text/plain'];
const PARALLEL = 32;

/** No admitted request has an effect. A watch ends soon; any other request has the time that it takes. */
function target({ path, requested }: Place, method: string): string {
  if (method === 'WATCH') {
    const end = requested(method).verb === 'watch' ? '&timeoutSeconds=1' : '';
    return `${path}?watch=true${end}`;
  }
  return WITH_BODY.has(method) ? `${path}?dryRun=All` : path;
}

/** Whether the authorizer said no; what admission says is another matter. */
const isDenied = ({ status, text }: HttpResponse, isHead: boolean, name: string): boolean =>
  status === 401 || (status === 403 && (isHead || (text.includes(name) && text.includes(' cannot '))));

interface Case {
  readonly place: Place;
  readonly method: string;
  readonly path: string;
  readonly identity: Identity;
  readonly type: string;
  readonly way: Exclude<keyof Ways, 'close'>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends them all. @returns what was wrong, and how many were expected to be what */
async function sendAll(cases: Iterable<Case>) {
  const may = createModel(plane.words.apiGroupDomain, plane.words.nodeLeaseNamespace, REFERRED);
  const wrong: string[] = [];
  const seen = { allowed: 0, denied: 0 };
  async function run({ place, method, path, identity, type, way, headers }: Case): Promise<void> {
    const body = WITH_BODY.has(method) && way !== 'webSocket' ? Buffer.from('{}') : Buffer.alloc(0);
    const response = await ways[way](
      method === 'WATCH' ? 'GET' : method,
      path,
      {
        ...(body.length === 0 ? { accept: type } : { accept: `${PROTOBUF},*/*`, 'content-type': type }),
        ...(identity.token === '' ? {} : { authorization: `Bearer ${identity.token}` }),
        ...headers,
      },
      body,
    );
    const expected = may(identity, place.requested(method));
    seen[expected ? 'allowed' : 'denied'] += 1;
    if (isDenied(response, method === 'HEAD', identity.name) === expected || response.status >= 600) {
      const what = `${identity.name} ${method} ${path} (${type}, ${way})`;
      wrong.push(`${what}: ${response.status} ${response.text.slice(0, 200)}`);
    }
  }
  const rest = cases[Symbol.iterator]();
  const lane = async (): Promise<void> => {
    for (let next = rest.next(); next.done !== true; next = rest.next()) await run(next.value);
  };
  await Promise.all(Array.from({ length: PARALLEL }, lane));
  return { wrong, seen };
}

const random = createRandom();
const WAYS = ['http1', 'http2'] as const;
const WAYS_OF_EACH = ofRound({ short: 1, long: WAYS.length });
/** One of so many paths meets all content types. */
const ALL_TYPES_AT = ofRound({ short: 20, long: 1 });
const start = random.below(ALL_TYPES_AT);

/** The content types that are sent at a place: all at some places, elsewhere one of them. */
const typesAt = (place: number, types: readonly string[]): readonly string[] =>
  (place + start) % ALL_TYPES_AT === 0 ? types : sample(types, 1, random);

function* requests(): Generator<Case> {
  for (const [at, place] of places.entries()) {
    for (const method of METHODS) {
      const path = target(place, method);
      for (const identity of identities) {
        for (const way of sample(WAYS, WAYS_OF_EACH, random)) {
          const types = typesAt(at, WITH_BODY.has(method) ? TYPES : READ_TYPES);
          for (const type of types) yield { place, method, path, identity, type, way };
        }
      }
    }
  }
}

test('every user may do exactly what the documents allow', async () => {
  const { wrong, seen } = await sendAll(requests());
  expect({ seed: random.seed, wrong }).toEqual({ seed: random.seed, wrong: [] });
  expect(seen.allowed).toBeGreaterThan(4000 * WAYS_OF_EACH);
  expect(seen.denied).toBeGreaterThan(15_000 * WAYS_OF_EACH);
}, 600_000);

function* watches(): Generator<Case> {
  for (const [at, place] of places.entries()) {
    const path = target(place, 'WATCH');
    for (const identity of identities) {
      for (const type of typesAt(at, READ_TYPES)) {
        yield { place, method: 'WATCH', path, identity, type, way: 'webSocket' };
      }
    }
  }
}

test('a watch over WebSocket is for those who may watch', async () => {
  const { wrong, seen } = await sendAll(watches());
  expect({ seed: random.seed, wrong }).toEqual({ seed: random.seed, wrong: [] });
  expect(seen.allowed).toBeGreaterThan(500);
  expect(seen.denied).toBeGreaterThan(1000);
}, 600_000);

/** Streams of pods and nodes, of what is not there, so that nothing opens. */
const isStream = ({ subresource, path }: Place): boolean =>
  ['exec', 'attach', 'portforward', 'proxy', 'log'].includes(subresource) && /\/x(?:\/|$)/.test(path);
const STREAM_PROTOCOLS = [REMOTE_COMMAND_V4, `base64.${REMOTE_COMMAND_V4}`, 'nosuch'];

function* streams(): Generator<Case> {
  for (const place of places.filter(isStream)) {
    const path = `${place.path}?command=a&stdout=1`;
    for (const identity of identities) {
      for (const method of ['GET', 'POST']) {
        for (const protocol of STREAM_PROTOCOLS) {
          const headers = { 'sec-websocket-protocol': protocol };
          yield { place, method, path, identity, type: '*/*', way: 'webSocket', headers };
        }
      }
    }
  }
}

test('a stream over WebSocket is for those who may open it', async () => {
  expect(new Set(places.filter(isStream).map(({ subresource }) => subresource))).toEqual(
    new Set(['exec', 'attach', 'portforward', 'proxy', 'log']),
  );
  const { wrong, seen } = await sendAll(streams());
  expect(wrong).toEqual([]);
  expect(seen.allowed).toBeGreaterThan(20);
  expect(seen.denied).toBeGreaterThan(100);
});

test.each([
  '/healthz/../metrics',
  '/healthz/..%2fmetrics',
  '/version/%2e%2e/api/v1/secrets',
  '//api/v1/secrets',
  '/api//v1/secrets',
  '/api/v1//secrets',
  '/healthz;/../../api/v1/secrets',
  '/healthz%00/api/v1/secrets',
  '/healthz?/../api/v1/secrets',
  '/version#/api/v1/secrets',
  '/API/v1/secrets',
  '/api/v1/namespaces/default/../../secrets',
  '/livez/%2e',
  '/api/v1/watch/secrets',
  '/api/v1/proxy/nodes/n1',
])('a path such as %s does not bypass authorization', async (path) => {
  for (const { token, groups } of identities) {
    if (groups.includes('system:masters')) continue;
    for (const send of [ways.http1, ways.http2]) {
      const headers = token === '' ? {} : { authorization: `Bearer ${token}` };
      const { status } = await send('GET', path, headers, Buffer.alloc(0));
      // The path without the query or fragment is public.
      if (path.startsWith('/healthz?') || path.startsWith('/version#')) continue;
      expect([path, status < 300]).toEqual([path, false]);
    }
  }
});
