/** Garbage of requests is collected young. Objects promoted to the old generation cost many times as much:
 *  they are moved, and cause major collections more often. */
import { Agent, request } from 'undici';
import { describe, expect, test } from 'vitest';
import { startEtcd } from '#plane/store/etcd.fixture.ts';
import { createTempDir } from '../../testing/temp.ts';
import { type PlaneChild, startPlaneChild } from '../plane-fuzz/plane-child.ts';

/** Bytes for each request. About half of what was left when hash tables and accessors held what requests had made. */
const LIMITS: Readonly<Record<string, number>> = {
  create: 4096,
  patch: 5120,
  'JSON patch': 5120,
  apply: 5120,
  get: 2560,
};

const CLIENTS = 32;
const REQUESTS = 1500;
/** Requests that are not measured: they load and compile what the others use, while the server completes its start. */
const WARM_UP = 500;
const POD = {
  metadata: { labels: { app: 'web' }, annotations: { note: 'x'.repeat(100) } },
  spec: {
    containers: [
      {
        name: 'main',
        image: 'registry.example/app:1.2.3',
        command: ['/bin/app', '--serve'],
        resources: { requests: { cpu: '100m', memory: '64Mi' } },
      },
    ],
  },
};

interface SampleRequest {
  readonly method: 'POST' | 'PATCH' | 'GET';
  readonly name: string;
  readonly type?: string;
  readonly body?: object;
}

const SAMPLE_REQUESTS: Readonly<Record<string, (index: number) => SampleRequest>> = {
  create: (index) => ({
    method: 'POST',
    name: '',
    body: { ...POD, metadata: { ...POD.metadata, name: `p${index}` } },
  }),
  patch: (index) => ({
    method: 'PATCH',
    name: `/p${index % 300}`,
    type: 'application/merge-patch+json',
    body: { metadata: { labels: { round: String(index) } } },
  }),
  'JSON patch': (index) => ({
    method: 'PATCH',
    name: `/p${index % 300}`,
    type: 'application/json-patch+json',
    body: [{ op: 'add', path: '/metadata/labels/round', value: `j${index}` }],
  }),
  apply: (index) => ({
    method: 'PATCH',
    name: `/p${index % 300}?fieldManager=test&force=true`,
    type: 'application/apply-patch+yaml',
    body: { apiVersion: 'v1', kind: 'Pod', metadata: { labels: { round: `a${index}` } } },
  }),
  get: (index) => ({ method: 'GET', name: `/p${index % 300}` }),
};

/** Sends the requests, so many at a time. */
async function sendAll(
  plane: PlaneChild,
  count: number,
  make: (index: number) => SampleRequest,
): Promise<void> {
  const dispatcher = new Agent({ connect: plane.credentials, allowH2: false, connections: CLIENTS });
  let next = 0;
  async function send(): Promise<void> {
    for (let index = next++; index < count; index = next++) {
      const { method, name, body, type = 'application/json' } = make(index);
      const response = await request(`${plane.url}/api/v1/namespaces/default/pods${name}`, {
        method,
        dispatcher,
        ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': type } }),
      });
      expect(response.statusCode).toBeLessThan(300);
      await response.body.dump();
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, send));
  await dispatcher.close();
}

interface Started extends AsyncDisposable {
  readonly plane: PlaneChild;
}

async function start(store: string): Promise<Started> {
  const stack = new AsyncDisposableStack();
  const dir = stack.use(await createTempDir('na-garbage-'));
  const flags = store === 'etcd' ? [`--etcd-servers=${stack.use(await startEtcd()).urls.join()}`] : [];
  const plane = stack.use(await startPlaneChild(dir.path, flags));
  return { plane, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

describe.each(['the embedded store', 'etcd'])('on %s', { timeout: 120_000 }, (store) => {
  test('old garbage is little for each request', async () => {
    await using started = await start(store);
    const { plane } = started;
    const left: Record<string, number> = {};
    for (const [verb, make] of Object.entries(SAMPLE_REQUESTS)) {
      await sendAll(plane, WARM_UP, (index) => make(REQUESTS + index));
      await plane.garbage();
      await sendAll(plane, REQUESTS, make);
      left[verb] = Math.round((await plane.garbage()) / REQUESTS);
    }
    console.log(`${store}: bytes of old garbage for each request: ${JSON.stringify(left)}`);
    const above = Object.keys(left).filter((verb) => (left[verb] ?? 0) > (LIMITS[verb] ?? 0));
    expect({ left, above }).toEqual({ left, above: [] });
  });
});
