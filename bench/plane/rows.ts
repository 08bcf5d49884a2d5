/** Rows of the API server, the same for both stores. */
import type { RowOn } from '../row.ts';
import { type Measurement, median } from '../table.ts';
import { prepareFailedLogins } from './flood/failed-logins.ts';
import { byAnonymous, byUser, measureFlood } from './flood/measure.ts';
import type { FloodOptions } from './flood/messages.ts';
import { type Reply, requestBytes, type Target } from './http-client.ts';
import { POD_COUNT, WATCHER_COUNT } from './load.ts';
import { GROUPS, PODS_PATH, podName } from './pod.ts';
import type { PlaneBench, StoreKind } from './setup.ts';
import { measureStore } from './store-floor.ts';

type PlaneRow = RowOn<PlaneBench>;

const GETS = 20_000;
const PATCHES = 10_000;
/** Enough that the median is that of a server with compiled code. */
const LIST_REPEATS = 25;
const PAGE = 500;
/** Coprime with the number of pods: every pod has its turn, none soon again. */
const STRIDE = 7;

const anyPod = (index: number): string => `${PODS_PATH}/${podName((index * STRIDE) % POD_COUNT)}`;

async function memoryText({ memory }: PlaneBench): Promise<string> {
  const { serverMiB, etcdMiB } = await memory();
  const etcd = etcdMiB === undefined ? '' : `, etcd ${etcdMiB.toFixed(0)} MiB`;
  return `server ${serverMiB.toFixed(0)} MiB${etcd}`;
}

/** Returns a measurement with the server's memory after it. */
async function withMemory(bench: PlaneBench, value: number, error: string | undefined): Promise<Measurement> {
  return { value, detail: await memoryText(bench), ...(error === undefined ? {} : { error }) };
}

async function measureCreate(bench: PlaneBench): Promise<Measurement> {
  const { perSecond, coldPerSecond, error } = await bench.load.create();
  const { detail = '', ...measured } = await withMemory(bench, perSecond, error);
  const floor = await measureStore(bench.store, bench.clients.length);
  return { ...measured, detail: `${detail}, first ${POD_COUNT} ${coldPerSecond.toFixed(0)} /s`, floor };
}

async function measureWatch(bench: PlaneBench): Promise<Measurement> {
  const { watchP99Ms, error } = await bench.load.create();
  return withMemory(bench, watchP99Ms, error);
}

/** On a separate server: elsewhere the warm-up is still in the watch history. */
async function measureMemory({ another }: PlaneBench): Promise<Measurement> {
  await using stack = new AsyncDisposableStack();
  const fresh = await another(stack);
  const { error } = await fresh.load.fill();
  const { serverMiB } = await fresh.memory();
  return withMemory(fresh, serverMiB, error);
}

async function measureGet(bench: PlaneBench): Promise<Measurement> {
  await bench.load.create();
  const { perSecond, error } = await bench.load.send(
    GETS,
    (index) => requestBytes('GET', anyPod(index)),
    200,
  );
  return withMemory(bench, perSecond, error);
}

async function measurePatch(bench: PlaneBench): Promise<Measurement> {
  await bench.load.create();
  const make = (index: number): Buffer => {
    const patch = JSON.stringify({ metadata: { labels: { generation: String(index) } } });
    return requestBytes('PATCH', anyPod(index), patch, 'application/merge-patch+json');
  };
  const { perSecond, error } = await bench.load.send(PATCHES, make, 200);
  return withMemory(bench, perSecond, error);
}

/** Returns the median time of one client's read until its last byte, in ms. `read` returns the content. */
async function measureReading(
  bench: PlaneBench,
  expected: number,
  read: (path: string) => Promise<readonly Reply[]>,
  path: string,
): Promise<Measurement> {
  await bench.load.create();
  const times: number[] = [];
  let error: string | undefined;
  for (let round = 0; round < LIST_REPEATS; round += 1) {
    const startMs = performance.now();
    const replies = await read(path);
    times.push(performance.now() - startMs);
    const items = replies.map(({ body }) => countItems(body)).reduce((sum, count) => sum + count, 0);
    if (items !== expected) error = `${items} pods instead of ${expected}`;
  }
  return withMemory(bench, median(times), error);
}

/** A pod's own name: some servers omit the kind of items. */
const ITEM = Buffer.from(`"name":"${podName(0).slice(0, -1)}`);

function countItems(body: Buffer): number {
  let items = 0;
  for (let at = body.indexOf(ITEM); at >= 0; at = body.indexOf(ITEM, at + ITEM.length)) items += 1;
  return items;
}

function readOnce({ clients }: PlaneBench, path: string): Promise<Reply> {
  const [client] = clients;
  if (client === undefined) throw new Error('no client');
  return client.send(requestBytes('GET', path));
}

async function measureList(bench: PlaneBench, selector: string, expected: number): Promise<Measurement> {
  const read = async (path: string): Promise<readonly Reply[]> => [await readOnce(bench, path)];
  return measureReading(bench, expected, read, `${PODS_PATH}${selector}`);
}

function measurePages(bench: PlaneBench): Promise<Measurement> {
  const readAll = async (path: string): Promise<readonly Reply[]> => {
    const replies: Reply[] = [];
    let token = '';
    do {
      const reply = await readOnce(bench, `${path}&continue=${token}`);
      replies.push(reply);
      token = /"continue":"([^"]*)"/.exec(reply.body.toString('latin1', 0, 500))?.[1] ?? '';
    } while (token !== '');
    return replies;
  };
  return measureReading(bench, POD_COUNT, readAll, `${PODS_PATH}?limit=${PAGE}`);
}

/** Returns the 99th percentile of one client's creates under another's flood, in percent of that without.
 *  @param status the response that the flood has to get */
async function measureFlooded(
  server: PlaneBench,
  flood: (target: Target) => FloodOptions,
  status: number,
): Promise<Measurement> {
  const result = await measureFlood(server, flood(server.target), status);
  const { alone, flooded, floodPerSecond, cpuMicros } = result;
  const change = (from: number, to: number): string => `${from.toFixed(2)} → ${to.toFixed(2)} ms`;
  const latency = `${change(alone.p99Ms, flooded.p99Ms)}, p50 ${change(alone.p50Ms, flooded.p50Ms)}`;
  const rate = `flood ${floodPerSecond.toFixed(0)} /s of ${cpuMicros.toFixed(0)} µs CPU`;
  return { value: (flooded.p99Ms / alone.p99Ms) * 100, detail: `${latency}, ${rate}` };
}

async function measureFloodedAnother(
  { another }: PlaneBench,
  flood: (target: Target) => FloodOptions,
  status: number,
): Promise<Measurement> {
  await using stack = new AsyncDisposableStack();
  return await measureFlooded(await another(stack), flood, status);
}

async function measureFailedLogins({ another }: PlaneBench): Promise<Measurement> {
  await using stack = new AsyncDisposableStack();
  const { flags, flood } = await prepareFailedLogins(stack);
  return await measureFlooded(await another(stack, flags), flood, 401);
}

/** Results of upstream's API server with etcd on the machine on which the budgets were set. */
const UPSTREAM: Readonly<Record<string, number>> = {
  'api-create': 706,
  'api-watch': 507,
  'api-get': 3673,
  'api-patch': 966,
  'api-list': 230,
  'api-label': 122,
  'api-pages': 238,
};

const ROWS: readonly PlaneRow[] = [
  {
    name: 'api-start',
    title: 'API: start on an empty store → ready',
    unit: 's',
    budget: 1,
    limits: 'value',
    measure: (bench) => withMemory(bench, bench.startedS, undefined),
  },
  {
    name: 'api-create',
    title: `API: create, 32 clients, ${WATCHER_COUNT} watchers`,
    unit: '/s',
    budget: 2000,
    limits: 'atLeast',
    measure: measureCreate,
  },
  {
    name: 'api-watch',
    title: 'API: delivery to watchers during that, p99',
    unit: 'ms',
    budget: 100,
    limits: 'value',
    measure: measureWatch,
  },
  {
    name: 'api-memory',
    title: `API: resident memory after ${POD_COUNT} pods`,
    unit: 'MiB',
    budget: 250,
    limits: 'value',
    measure: measureMemory,
  },
  { name: 'api-get', title: 'API: get', unit: '/s', budget: 6000, limits: 'atLeast', measure: measureGet },
  {
    name: 'api-patch',
    title: 'API: patch',
    unit: '/s',
    budget: 2500,
    limits: 'atLeast',
    measure: measurePatch,
  },
  {
    name: 'api-list',
    title: `API: list ${POD_COUNT} pods`,
    unit: 'ms',
    budget: 50,
    limits: 'value',
    measure: (bench) => measureList(bench, '', POD_COUNT),
  },
  {
    name: 'api-label',
    title: `API: list a ${GROUPS}th of them by label`,
    unit: 'ms',
    budget: 25,
    limits: 'value',
    measure: (bench) => measureList(bench, '?labelSelector=app%3Dapp-1', POD_COUNT / GROUPS),
  },
  {
    name: 'api-pages',
    title: `API: list them in pages of ${PAGE}`,
    unit: 'ms',
    budget: 80,
    limits: 'value',
    measure: measurePages,
  },
  {
    name: 'api-flood',
    title: "API: a client's create under another's flood of gets, p99 relative to none",
    unit: '%',
    budget: 200,
    limits: 'value',
    measure: (bench) => measureFloodedAnother(bench, byUser, 200),
  },
  {
    name: 'api-flood-anonymous',
    title: 'API: the same under a flood of anonymous requests',
    unit: '%',
    budget: 200,
    limits: 'value',
    measure: (bench) => measureFloodedAnother(bench, byAnonymous, 403),
  },
  {
    name: 'api-failed-logins',
    title: 'API: the same beside 10,000 failed logins per minute',
    unit: '%',
    budget: 150,
    limits: 'value',
    measure: measureFailedLogins,
  },
];

const onOthers = (suffix: string, title: string): readonly PlaneRow[] =>
  ROWS.map((row) => ({ ...row, name: `${row.name}-${suffix}`, title: row.title.replace('API', title) }));

/** Adds upstream's row as the reference of each row that has one. */
const besideUpstream = (rows: readonly PlaneRow[]): readonly PlaneRow[] =>
  rows.map((row, index) => {
    const { name = '' } = ROWS[index] ?? {};
    const value = UPSTREAM[name];
    return value === undefined ? row : { ...row, reference: { row: `${name}-upstream`, value } };
  });

/** Returns the rows for a store; those with etcd are named after it. */
export const planeRows = (kind: StoreKind): readonly PlaneRow[] =>
  besideUpstream(kind === 'embedded' ? ROWS : onOthers('etcd', 'API on etcd'));

/** The same rows for upstream's API server with etcd. */
export const UPSTREAM_ROWS: readonly PlaneRow[] = onOthers('upstream', "upstream's API");
