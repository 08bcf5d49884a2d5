/** Latency of one client's creates while another client floods the server: API priority and fairness, and the cost of
 *  failed logins. Rounds with and without the flood alternate, so that both have the same machine and the same warm
 *  server. The measured client is the only work of this process; the flood has its own, of lower priority. The users are
 *  impersonated, because administrators are exempt from limits. */
import { cpuSeconds } from '../../process.ts';
import { type HttpClient, openClient, requestBytes, type Target } from '../http-client.ts';
import { type Flooder, openFlooder } from './flooder.ts';
import type { FloodFigures, FloodOptions } from './messages.ts';
import { withHeader } from './with-header.ts';

/** Creates of each round. */
const CREATES = 250;
/** Rounds of each kind that are measured, after one of each. */
const ROUNDS = 8;
const USERS = ['quiet', 'flood'];
const MAPS = '/api/v1/namespaces/default/configmaps';

export interface Latency {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface FloodResult {
  readonly alone: Latency;
  readonly flooded: Latency;
  /** Requests of the flood per second. */
  readonly floodPerSecond: number;
  /** CPU time of the server per request of the flood, in µs, without that of the measured client. */
  readonly cpuMicros: number;
}

const as = (user: string, request: Buffer): Buffer => withHeader(`Impersonate-User: ${user}`, request);

/** A request of the flood: a read of an object that exists. */
const FLOOD_REQUEST: Buffer = requestBytes('GET', `${MAPS}/kube-root`);

const grant = (domain: string): string =>
  JSON.stringify({
    apiVersion: `rbac.authorization.${domain}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'bench-flood' },
    roleRef: { apiGroup: `rbac.authorization.${domain}`, kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: USERS.map((name) => ({ apiGroup: `rbac.authorization.${domain}`, kind: 'User', name })),
  });

const mapBody = (name: string): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });

/** @returns latencies of the creates in ms */
async function measureCreates(client: HttpClient, prefix: string): Promise<readonly number[]> {
  const times: number[] = [];
  for (let index = 0; index < CREATES; index += 1) {
    const request = as('quiet', requestBytes('POST', MAPS, mapBody(`${prefix}-${index}`)));
    const startMs = performance.now();
    const { status } = await client.send(request);
    if (status !== 201) throw new Error(`a create got the response ${status}`);
    times.push(performance.now() - startMs);
  }
  return times;
}

function latencyOf(times: readonly number[]): Latency {
  const ascending = times.toSorted((a, b) => a - b);
  const at = (share: number): number => ascending[Math.floor(ascending.length * share)] ?? 0;
  return { p50Ms: at(0.5), p99Ms: at(0.99) };
}

export interface FloodTarget {
  readonly target: Target;
  /** Process ID of the server. */
  readonly pid: number;
  /** Domain of the API groups. */
  readonly domain: string;
}

export const byUser = (target: Target): FloodOptions => ({
  target,
  connections: 31,
  attempts: [{ request: as('flood', FLOOD_REQUEST).toString('latin1') }],
});

export const byAnonymous = (target: Target): FloodOptions => ({
  target: { ...target, cert: undefined, key: undefined },
  connections: 31,
  attempts: [{ request: FLOOD_REQUEST.toString('latin1') }],
});

interface Round {
  readonly times: readonly number[];
  readonly cpuMs: number;
  readonly ms: number;
}

/** @param status the response that the flood has to get
 *  @throws Error for any other response */
export async function measureFlood(
  { target, pid, domain }: FloodTarget,
  options: FloodOptions,
  status: number,
): Promise<FloodResult> {
  await using stack = new AsyncDisposableStack();
  const quiet = await openClient(target);
  stack.defer(() => quiet.close());
  const bindings = `/apis/rbac.authorization.${domain}/v1/clusterrolebindings`;
  await quiet.send(requestBytes('POST', bindings, grant(domain)));
  await quiet.send(requestBytes('POST', MAPS, mapBody('kube-root')));
  const flooder: Flooder = stack.use(await openFlooder(options));
  async function round(prefix: string): Promise<Round> {
    const [startMs, startS] = [performance.now(), await cpuSeconds(pid)];
    const times = await measureCreates(quiet, prefix);
    return { times, cpuMs: ((await cpuSeconds(pid)) - startS) * 1000, ms: performance.now() - startMs };
  }
  const alone: Round[] = [];
  const flooded: Round[] = [];
  const figures: FloodFigures[] = [];
  for (let index = 0; index <= ROUNDS; index += 1) {
    const before = await round(`alone-${index}`);
    flooder.start();
    const during = await round(`flooded-${index}`);
    const figure = await flooder.stop();
    requireStatus(figure, status);
    if (index === 0) continue;
    alone.push(before);
    flooded.push(during);
    figures.push(figure);
  }
  const sum = <T>(all: readonly T[], of: (one: T) => number): number =>
    all.reduce((total, one) => total + of(one), 0);
  const sent = sum(figures, (figure) => figure.sent);
  const extraCpuMs = sum(flooded, ({ cpuMs }) => cpuMs) - sum(alone, ({ cpuMs }) => cpuMs);
  return {
    alone: latencyOf(alone.flatMap(({ times }) => times)),
    flooded: latencyOf(flooded.flatMap(({ times }) => times)),
    floodPerSecond: sent / sum(figures, ({ seconds }) => seconds),
    cpuMicros: (extraCpuMs / sent) * 1000,
  };
}

function requireStatus({ sent, statuses }: FloodFigures, status: number): void {
  const others = Object.keys(statuses).filter((each) => Number(each) !== status);
  if (sent === 0) throw new Error('no request of the flood got a response');
  if (others.length > 0) throw new Error(`the flood got the responses ${others.join()} instead of ${status}`);
}
