/** Setup of the API server rows: the bundled server as shipped, with an empty store and keep-alive
 *  connections over TLS. */
import { join } from 'node:path';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { API_ALONE } from '#plane/main.fixture.ts';
import { startEtcd } from '#plane/store/etcd.fixture.ts';
import { bundle, PLANE_ENTRIES } from '../../scripts/bundle.ts';
import { createTempDir } from '../../testing/temp.ts';
import { residentMiB } from '../process.ts';
import { type HttpClient, openClient, requestBytes, type Target } from './http-client.ts';
import { createLoad, type Load } from './load.ts';
import { startPlaneProcess } from './server-process.ts';

export const CLIENTS = 32;
const START_MS = 20_000;

export type StoreKind = 'embedded' | 'etcd';

export interface PlaneBench {
  readonly store: StoreKind;
  readonly clients: readonly HttpClient[];
  readonly load: Load;
  readonly pid: number;
  /** Address of the server, and the administrator's credentials. */
  readonly target: Target;
  /** Domain of its API groups. */
  readonly domain: string;
  /** Starts another server of the kind, which stops with the stack. */
  readonly another: (stack: AsyncDisposableStack, flags?: readonly string[]) => Promise<PlaneBench>;
  /** From the start of the process to its first response, in s. */
  readonly startedS: number;
  /** Returns the current memory of the server and its etcd. */
  readonly memory: () => Promise<{ readonly serverMiB: number; readonly etcdMiB: number | undefined }>;
}

/** Starts everything; disposing of the stack stops and removes it. */
export async function setUpPlane(
  kind: StoreKind,
  stack: AsyncDisposableStack,
  say: (line: string) => void,
  flags: readonly string[] = [],
): Promise<PlaneBench> {
  const folder = stack.use(await createTempDir('na-bench-p-'));
  const program = join(folder.path, 'program');
  say(`bundling the API server (${kind})`);
  await bundle(program, PLANE_ENTRIES);
  const etcd = kind === 'etcd' ? stack.use(await startEtcd()) : undefined;
  const startMs = performance.now();
  const server = await startPlaneProcess({
    program: join(program, 'control-plane-lite.js'),
    dataDir: join(folder.path, 'data'),
    flags: [...API_ALONE, ...(etcd === undefined ? [] : [`--etcd-servers=${etcd.urls.join()}`]), ...flags],
  });
  stack.use(server);
  const { target, pid } = server;
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => openClient(target)));
  stack.defer(() => clients.forEach((client) => client.close()));
  await ready(clients);
  const startedS = (performance.now() - startMs) / 1000;
  const etcdPid = etcd?.members[0]?.pid;
  return {
    store: kind,
    clients,
    pid,
    target,
    domain: VOCABULARIES.plat.apiGroupDomain,
    startedS,
    load: createLoad({ clients, target, say }),
    another: (its, more) => setUpPlane(kind, its, say, more),
    memory: async () => ({
      serverMiB: await residentMiB(pid),
      etcdMiB: etcdPid === undefined ? undefined : await residentMiB(etcdPid),
    }),
  };
}

async function ready([client]: readonly HttpClient[]): Promise<void> {
  const untilMs = performance.now() + START_MS;
  while (performance.now() < untilMs) {
    if ((await client?.send(requestBytes('GET', '/readyz')))?.status === 200) return;
  }
  throw new Error(`the server was not ready within ${START_MS / 1000} s`);
}
