/** Upstream's API server with etcd under the same load, on this machine in the same run. Its program is
 *  built from Debian's sources if it does not exist, which takes a while. */
import { VOCABULARIES } from '#api/vocabulary.ts';
import { startEtcd } from '#plane/store/etcd.fixture.ts';
import { freePort } from '../../testing/free-port.ts';
import { startUpstream, type UpstreamProcess } from '../../testing/stock-process.ts';
import {
  checkUpstreamServer,
  type UpstreamServerPlace,
  upstreamPrograms,
  upstreamServerFlags,
  writeUpstreamFiles,
} from '../../testing/stock-server.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { residentMiB } from '../process.ts';
import { type HttpClient, openClient, requestBytes, type Target } from './http-client.ts';
import { createLoad } from './load.ts';
import { CLIENTS, type PlaneBench } from './setup.ts';

/** Connects and sends a request; a server that does not listen yet is not ready. */
async function isReady(target: Target): Promise<boolean> {
  let client: HttpClient | undefined;
  try {
    client = await openClient(target);
    return (await client.send(requestBytes('GET', '/readyz'))).status === 200;
  } catch {
    return false;
  } finally {
    client?.close();
  }
}

function startServer(folder: string, place: UpstreamServerPlace, target: Target): Promise<UpstreamProcess> {
  return startUpstream({
    program: `${folder}/kube-apiserver`,
    // As in our measurement: pods need no service account.
    args: [
      ...upstreamServerFlags(place),
      '--authorization-mode=RBAC',
      '--disable-admission-plugins=ServiceAccount',
    ],
    logFile: `${place.dir}/log`,
    isReady: () => isReady(target),
  });
}

/** Starts everything; disposing of the stack stops and removes it. */
export async function setUpUpstream(
  stack: AsyncDisposableStack,
  say: (line: string) => void,
): Promise<PlaneBench> {
  const folder = await upstreamPrograms();
  const { path: dir } = stack.use(await createTempDir('na-bench-u-'));
  const etcd = stack.use(await startEtcd());
  const port = await freePort();
  const { authority, admin } = await writeUpstreamFiles(dir);
  const target = { port, ca: authority.certificate, cert: admin.certificate, key: admin.key };
  say("starting upstream's API server");
  const startMs = performance.now();
  const server = stack.use(await startServer(folder, { dir, port, etcd: etcd.urls.join() }, target));
  const startedS = (performance.now() - startMs) / 1000;
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => openClient(target)));
  stack.defer(() => clients.forEach((client) => client.close()));
  const [client] = clients;
  if (client !== undefined) {
    await eventually(
      async () => (await client.send(requestBytes('GET', '/api/v1/namespaces/default'))).status === 200,
    );
    await checkUpstreamServer((method, path, body) => client.send(requestBytes(method, path, body)));
  }
  return {
    store: 'etcd',
    clients,
    pid: server.pid(),
    target,
    domain: VOCABULARIES.kubernetes.apiGroupDomain,
    startedS,
    load: createLoad({ clients, target, say }),
    another: (its) => setUpUpstream(its, say),
    memory: async () => ({
      serverMiB: await residentMiB(server.pid()),
      etcdMiB: await residentMiB(etcd.members[0]?.pid ?? 0),
    }),
  };
}
