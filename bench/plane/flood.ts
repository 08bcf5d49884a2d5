/** Latency of one client's creates while another client floods the server with requests: API priority and fairness.
 *  The users are impersonated, because administrators are exempt from limits. */
import { type HttpClient, openClient, requestBytes, type Target } from './http-client.ts';

/** Creates whose latency is measured, with and without the flood. */
const CREATES = 400;
const USERS = ['quiet', 'flood'];
const MAPS = '/api/v1/namespaces/default/configmaps';

export type Flooder = 'user' | 'anonymous';

export interface FloodResult {
  /** 99th percentiles of the latency, in ms. */
  readonly aloneMs: number;
  readonly floodedMs: number;
  /** Requests of the flood per second. */
  readonly floodPerSecond: number;
}

/** Adds a header to a request. */
function as(user: string, request: Buffer): Buffer {
  const text = request.toString('latin1');
  const end = text.indexOf('\r\n') + 2;
  return Buffer.from(`${text.slice(0, end)}Impersonate-User: ${user}\r\n${text.slice(end)}`, 'latin1');
}

const grant = (domain: string): string =>
  JSON.stringify({
    apiVersion: `rbac.authorization.${domain}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'bench-flood' },
    roleRef: { apiGroup: `rbac.authorization.${domain}`, kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: USERS.map((name) => ({ apiGroup: `rbac.authorization.${domain}`, kind: 'User', name })),
  });

/** @returns latencies of the creates, ascending, in ms */
async function measureCreates(client: HttpClient, prefix: string): Promise<readonly number[]> {
  const times: number[] = [];
  for (let index = 0; index < CREATES; index += 1) {
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `${prefix}-${index}` } };
    const request = as('quiet', requestBytes('POST', MAPS, JSON.stringify(map)));
    const startMs = performance.now();
    const { status } = await client.send(request);
    if (status !== 201) throw new Error(`a create got the response ${status}`);
    times.push(performance.now() - startMs);
  }
  return times.toSorted((a, b) => a - b);
}

const p99 = (ascending: readonly number[]): number => ascending[Math.floor(ascending.length * 0.99)] ?? 0;

/** @param clients the first one measures, the others flood
 *  @param domain of the API groups */
export async function measureFlood(
  clients: readonly HttpClient[],
  target: Target,
  flooder: Flooder,
  domain: string,
): Promise<FloodResult> {
  const [quiet, ...others] = clients;
  if (quiet === undefined) throw new Error('no client');
  await quiet.send(
    requestBytes('POST', `/apis/rbac.authorization.${domain}/v1/clusterrolebindings`, grant(domain)),
  );
  await measureCreates(quiet, `warm-${flooder}`);
  const alone = await measureCreates(quiet, `alone-${flooder}`);
  const anonymous = { ...target, cert: undefined, key: undefined };
  const floods = flooder === 'user' ? others : await Promise.all(others.map(() => openClient(anonymous)));
  const path = requestBytes('GET', `${MAPS}/warm-${flooder}-0`);
  const request = flooder === 'user' ? as('flood', path) : path;
  const stop = new AbortController();
  let sent = 0;
  const startMs = performance.now();
  const flooding = floods.map(async (client) => {
    while (!stop.signal.aborted) {
      await client.send(request);
      sent += 1;
    }
  });
  const flooded = await measureCreates(quiet, `flooded-${flooder}`);
  const floodPerSecond = (sent / (performance.now() - startMs)) * 1000;
  stop.abort();
  await Promise.all(flooding);
  if (flooder === 'anonymous') for (const client of floods) client.close();
  return { aloneMs: p99(alone), floodedMs: p99(flooded), floodPerSecond };
}
