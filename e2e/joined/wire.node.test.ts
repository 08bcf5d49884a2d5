/** Media types between an agent and its API server, as a recording proxy sees them. */
import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import { sh, WAIT } from '../lifecycle/support.ts';
import { type Exchanged, type RecordingProxy, startRecordingProxy } from './recording-proxy.ts';
import { type Joined, startJoined } from './support.ts';

const PROTOBUF = VOCABULARIES.plat.protobufContentType;
const JSON_TYPE = 'application/json';
const CORE = '/api/v1/namespaces/default';

/** Starts a pod that needs an object, changes the object, and ends the pod. */
async function lifeOfAPod(joined: Joined): Promise<void> {
  const conf = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'conf' }, data: { word: 'one' } };
  await joined.plane.post(`${CORE}/configmaps`, conf);
  await joined.run('talks', {
    automountServiceAccountToken: true,
    terminationGracePeriodSeconds: 1,
    containers: [sh('c', WAIT, { envFrom: [{ configMapRef: { name: 'conf' } }] })],
  });
  await joined.shows('talks', isReady);
  await joined.remove('talks');
  await joined.isGone('talks');
}

const successes = ({ exchanges }: RecordingProxy): readonly Exchanged[] =>
  exchanges.filter(({ status }) => status < 300);

const requested = ({ method, path, isWatch }: Exchanged): string =>
  `${method} ${path}${isWatch ? ' watch' : ''}`;

describe('an agent and its API server', () => {
  test('use protobuf, except for patches', async () => {
    let proxy: RecordingProxy | undefined;
    await using joined = await startJoined([], async (plane) => (proxy = await startRecordingProxy(plane)));
    if (proxy === undefined) throw new Error('the proxy is not running');
    const all = (): readonly Exchanged[] => (proxy === undefined ? [] : successes(proxy));
    await lifeOfAPod(joined);
    const last = `DELETE ${CORE}/pods/talks`;
    await eventually(() => Promise.resolve(all().some((one) => requested(one) === last)), { what: last });
    const said = new Set(all().map(requested));
    const other = [
      'POST /api/v1/nodes',
      'GET /api/v1/pods',
      'GET /api/v1/pods watch',
      `PATCH ${CORE}/pods/talks/status`,
    ];
    expect(other.filter((what) => !said.has(what))).toEqual([]);
    expect(all().some(({ path }) => path.endsWith('/serviceaccounts/default/token'))).toBe(true);
    // In their own time, whatever becomes of the pod.
    for (const resource of ['/leases', '/events']) {
      await eventually(() => all().some(({ path }) => path.includes(resource)), { what: resource });
    }
    expect(all().filter(({ responseType }) => responseType !== PROTOBUF)).toEqual([]);
    const bodies = all().filter(({ method }) => method !== 'GET');
    expect(bodies.filter(({ sent }) => sent !== PROTOBUF).map(({ method }) => method)).toEqual(
      bodies.filter(({ method }) => method === 'PATCH').map(({ method }) => method),
    );
  });

  test('use JSON if the server rejects protobuf', async () => {
    let proxy: RecordingProxy | undefined;
    await using joined = await startJoined(
      [],
      async (plane) => (proxy = await startRecordingProxy(plane, { refuses: true })),
    );
    if (proxy === undefined) throw new Error('the proxy is not running');
    await lifeOfAPod(joined);
    expect(new Set(successes(proxy).map(({ responseType }) => responseType))).toEqual(new Set([JSON_TYPE]));
    // It is rejected once for each resource, by each of its clients.
    const refusals = proxy.exchanges.filter(({ status }) => status === 406 || status === 415);
    const pods = refusals.filter(({ path }) => path === '/api/v1/pods');
    expect(pods).toHaveLength(1);
  });

  test('use JSON if the node is configured to', async () => {
    let proxy: RecordingProxy | undefined;
    await using joined = await startJoined(
      ['--plat-api-content-type=application/json'],
      async (plane) => (proxy = await startRecordingProxy(plane)),
    );
    if (proxy === undefined) throw new Error('the proxy is not running');
    await joined.run('talks', { containers: [sh('c', WAIT)] });
    await joined.shows('talks', isReady);
    expect(new Set(successes(proxy).map(({ responseType }) => responseType))).toEqual(new Set([JSON_TYPE]));
  });
});
