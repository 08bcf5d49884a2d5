/** Every path of the server, with every method, by everybody: access is what the documents say, whatever the
 *  protocol and the content type. Content types and protocols take turns, so that each path meets several of them and
 *  each method and identity all of them. */
import { writeFile } from 'node:fs/promises';
import { type ClientHttp2Session, connect } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { REMOTE_COMMAND_V4, VOCABULARIES } from '#api/vocabulary.ts';
import { createModel, type Subject } from './access-model.ts';
import { findPlaces, METHODS, type Place } from './access-paths.ts';
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
let http1: Agent;
let http2: ClientHttp2Session;

/** What the pod of the first node refers to. */
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
  const { ca } = plane.server.credentials();
  http1 = new Agent({ connect: { ca }, allowH2: false, connections: 24, pipelining: 1 });
  http2 = connect(plane.server.url, { ca });
});
afterAll(async () => {
  http2.close();
  await http1.destroy();
});

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Up to the head, and the body of a refusal. */
async function byHttp1(
  method: string,
  path: string,
  headers: Record<string, string>,
  body: Buffer,
): Promise<Answer> {
  const response = await request(plane.server.url + path, {
    method: method as 'GET',
    headers,
    dispatcher: http1,
    ...(body.length === 0 ? {} : { body }),
  });
  const { statusCode: status } = response;
  if (status === 403 || status === 401) return { status, text: await response.body.text() };
  if (path.includes('?watch=')) response.body.on('error', () => undefined).destroy();
  else await response.body.dump();
  return { status, text: '' };
}

function byHttp2(
  method: string,
  path: string,
  headers: Record<string, string>,
  body: Buffer,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const stream = http2.request(
      { ':method': method, ':path': path, ...headers },
      { endStream: body.length === 0 },
    );
    let status = 0;
    let text = '';
    stream.on('error', reject);
    stream.on('response', (head) => {
      status = Number(head[':status']);
      if (status === 403 || status === 401) return;
      resolve({ status, text });
      stream.close();
    });
    stream.setEncoding('utf8').on('data', (part: string) => (text += part));
    stream.on('end', () => resolve({ status, text }));
    if (body.length > 0) stream.end(body);
  });
}

const PROTOCOLS = [byHttp1, byHttp2];
const PROTOBUF = VOCABULARIES.plat.protobufContentType;
const TYPES = [
  'application/json',
  'application/yaml',
  PROTOBUF,
  'application/merge-patch+json',
  'text/plain',
];
const WITH_BODY = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);
const PARALLEL = 32;

/** No admitted request has an effect. */
function target({ path }: Place, method: string): string {
  if (method === 'WATCH') return `${path}?watch=true&timeoutSeconds=1`;
  return WITH_BODY.has(method) ? `${path}?dryRun=All` : path;
}

/** Whether the authorizer said no; what admission says is another matter. */
const isDenied = ({ status, text }: Answer, isHead: boolean, name: string): boolean =>
  status === 401 || (status === 403 && (isHead || (text.includes(name) && text.includes(' cannot '))));

test('everybody may do what the documents say, and nothing else', async () => {
  const may = createModel(plane.words.apiGroupDomain, plane.words.nodeLeaseNamespace, REFERRED);
  const wrong: string[] = [];
  const seen = { allowed: 0, denied: 0 };
  let turn = 0;
  const cases = places.flatMap((place) =>
    METHODS.flatMap((method) =>
      identities.map((identity) => ({ place, method, identity, turn: (turn += 1) })),
    ),
  );
  async function run({ place, method, identity, turn: at }: (typeof cases)[number]): Promise<void> {
    const verb = method === 'WATCH' ? 'GET' : method;
    // The number of identities has no factor in common with that of the ways, but for what the method adds.
    const way = at + Math.floor(at / identities.length);
    const type = TYPES[way % TYPES.length] ?? '';
    const send = PROTOCOLS[way % PROTOCOLS.length] ?? byHttp1;
    const body = WITH_BODY.has(method) ? Buffer.from('{}') : Buffer.alloc(0);
    const answer = await send(
      verb,
      target(place, method),
      {
        accept: type === PROTOBUF ? `${PROTOBUF},application/json` : 'application/json',
        ...(body.length === 0 ? {} : { 'content-type': type }),
        ...(identity.token === '' ? {} : { authorization: `Bearer ${identity.token}` }),
      },
      body,
    );
    const expected = may(identity, place.asked(method));
    seen[expected ? 'allowed' : 'denied'] += 1;
    if (isDenied(answer, method === 'HEAD', identity.name) === expected || answer.status >= 600) {
      wrong.push(
        `${identity.name} ${method} ${place.path} (${type}, ${send.name}): ${answer.status} ${answer.text.slice(0, 200)}`,
      );
    }
  }
  const rest = cases.values();
  await Promise.all(
    Array.from({ length: PARALLEL }, async () => {
      for (const next of rest) await run(next);
    }),
  );
  expect(wrong).toEqual([]);
  expect(seen.allowed).toBeGreaterThan(2000);
  expect(seen.denied).toBeGreaterThan(8000);
}, 180_000);

/** Ways of an upgrade: streams of pods and nodes, and watches. Those of what is not there, so that nothing opens. */
const isStream = ({ subresource, path }: Place): boolean =>
  ['exec', 'attach', 'portforward', 'proxy', 'log'].includes(subresource) && /\/x(?:\/|$)/.test(path);

function byWebSocket(path: string, token: string, protocol: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = httpsRequest(plane.server.url + path, {
      ca: plane.server.credentials().ca,
      agent: false,
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': Buffer.alloc(16).toString('base64'),
        'sec-websocket-protocol': protocol,
        ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
      },
    });
    outgoing.on('upgrade', (_, socket) => {
      socket.destroy();
      resolve({ status: 101, text: '' });
    });
    outgoing.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

test('an upgrade lets in nobody else', async () => {
  const may = createModel(plane.words.apiGroupDomain, plane.words.nodeLeaseNamespace, REFERRED);
  const streams = places.filter(isStream);
  expect(streams.map(({ subresource }) => subresource)).toEqual(
    expect.arrayContaining(['exec', 'attach', 'portforward', 'proxy', 'log']),
  );
  const wrong: string[] = [];
  for (const place of streams) {
    await Promise.all(
      identities.map(async (identity) => {
        const answer = await byWebSocket(
          `${place.path}?command=a&stdout=1`,
          identity.token,
          REMOTE_COMMAND_V4,
        );
        const expected = may(identity, place.asked('GET'));
        if (isDenied(answer, false, identity.name) === expected || answer.status === 101) {
          wrong.push(`${identity.name} ${place.path}: ${answer.status} ${answer.text.slice(0, 200)}`);
        }
      }),
    );
  }
  expect(wrong).toEqual([]);
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
])('nobody gets what he may not see by a path such as %s', async (path) => {
  for (const { token, groups } of identities) {
    if (groups.includes('system:masters')) continue;
    for (const send of PROTOCOLS) {
      const headers = token === '' ? {} : { authorization: `Bearer ${token}` };
      const { status } = await send('GET', path, headers, Buffer.alloc(0));
      // What stands before the question mark is open to everybody.
      if (path.startsWith('/healthz?') || path.startsWith('/version#')) continue;
      expect([path, status < 300]).toEqual([path, false]);
    }
  }
});
