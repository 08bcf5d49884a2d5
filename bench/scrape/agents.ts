/** Agents of many nodes as a server that scrapes them sees them: one TLS server that has the certificate of each node,
 *  and reports pods that use more CPU time as time goes on. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createSecureContext } from 'node:tls';
import { type Identity, issueIdentity } from '#api/pki/certificate.ts';

const HOUR_MS = 3_600_000;

export interface SimulatedAgents extends AsyncDisposable {
  readonly port: number;
  readonly figures: () => { readonly scrapes: number; readonly connections: number };
}

export interface AgentsOptions {
  /** Data directory of the API server, whose signer signs for the nodes. */
  readonly dataDir: string;
  readonly nodes: readonly string[];
  /** Names of the pods of a node, whose requests come under the node's name. */
  readonly podsOf: (node: string) => readonly string[];
}

function certificateOf(authority: Identity, node: string): Identity {
  return issueIdentity(authority, {
    subject: { commonName: `system:node:${node}`, organizations: ['system:nodes'] },
    extendedUsages: ['serverAuth'],
    notBefore: new Date(Date.now() - HOUR_MS),
    notAfter: new Date(Date.now() + HOUR_MS),
  });
}

/** As an agent's response: some hundred bytes for each pod, most of them about what scrapes do not need. */
function response(pods: readonly string[], startMs: number): string {
  const now = Date.now();
  const cpu = 1 + (now - startMs) / 20_000;
  const family = (name: string, value: number, at: string): string =>
    pods.map((pod) => `${name}{container="main",namespace="default",pod="${pod}"} ${value}${at}\n`).join('');
  const ofPods = (name: string, value: number): string =>
    pods.map((pod) => `${name}{namespace="default",pod="${pod}"} ${value} ${now}\n`).join('');
  return [
    family('container_cpu_usage_seconds_total', cpu, ` ${now}`),
    family('container_memory_working_set_bytes', 12_345_678, ` ${now}`),
    family('container_start_time_seconds', startMs / 1000 - 3600, ''),
    `node_cpu_usage_seconds_total ${100 + cpu} ${now}\nnode_memory_working_set_bytes 4e+09 ${now}\n`,
    ofPods('pod_cpu_usage_seconds_total', cpu),
    ofPods('pod_memory_working_set_bytes', 12_345_678),
    'scrape_error 0\n',
  ].join('');
}

export async function startAgents({ dataDir, nodes, podsOf }: AgentsOptions): Promise<SimulatedAgents> {
  const file = (end: string): Promise<string> => readFile(`${dataDir}/pki/node-serving-ca.${end}`, 'utf8');
  const authority = { certificate: await file('crt'), key: await file('key') };
  // Made before anything is measured: keys take their time.
  const contexts = new Map(
    nodes.map((node) => {
      const { certificate: cert, key } = certificateOf(authority, node);
      return [node, createSecureContext({ cert, key })] as const;
    }),
  );
  const startMs = Date.now();
  let [scrapes, connections] = [0, 0];

  const server = createServer(
    { SNICallback: (node, done) => done(null, contexts.get(node)), keepAliveTimeout: 60_000 },
    ({ socket }, reply) => {
      scrapes += 1;
      const node = 'servername' in socket ? String(socket.servername) : '';
      reply.end(response(podsOf(node), startMs));
    },
  );
  server.on('secureConnection', () => (connections += 1));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port
    port: (server.address() as AddressInfo).port,
    figures: () => ({ scrapes, connections }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
