/** Fixture of the node proxy tests: an agent with its server, and an API server with a Node and pods for it.
 *  The agent has not joined: the same pods exist on both sides by name. */
import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, inject } from 'vitest';
import type { Pod, PodSpec } from '#api/gen/core-v1.ts';
import { isReady, TestAgent } from '../../testing/agent.ts';
import { freePort } from '../../testing/free-port.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { pod as manifest } from '../lifecycle/support.ts';
import { agentCertificate } from '../plane/agent-certificate.ts';
import { type Plane, usePlane } from '../plane/support.ts';

export interface Node {
  readonly plane: Plane;
  readonly agent: () => TestAgent;
  readonly port: () => number;
  readonly readOnlyPort: () => number;
  /** Runs a pod on the agent, and creates it on the API server. Returns its name on both sides. */
  readonly run: (name: string, spec: PodSpec) => Promise<string>;
}

export interface NodeOptions {
  /** Further flags of the agent. */
  readonly flags?: (plane: Plane) => readonly string[];
  /** Users of the API server, by their tokens. */
  readonly users?: Parameters<typeof usePlane>[1];
}

export function useNode({ flags, users = [] }: NodeOptions = {}): Node {
  const plane = usePlane('kubernetes', users);
  let dir: TempDir;
  let agent: TestAgent;
  let port = 0;
  let readOnlyPort = 0;
  beforeAll(async () => {
    dir = await createTempDir('na-node-');
    [port, readOnlyPort] = [await freePort(), await freePort()];
    const { certificate, key } = await agentCertificate(plane.server.dir, 'n1');
    await writeFile(`${dir.path}/serving.crt`, certificate);
    await writeFile(`${dir.path}/serving.key`, key);
    agent = await TestAgent.create({
      endpoint: inject('criEndpoint'),
      flags: [
        '--enable-server=true',
        '--address=127.0.0.1',
        `--port=${port}`,
        `--read-only-port=${readOnlyPort}`,
        `--cert-dir=${dir.path}/pki`,
        `--tls-cert-file=${dir.path}/serving.crt`,
        `--tls-private-key-file=${dir.path}/serving.key`,
        `--client-ca-file=${plane.server.dir}/pki/ca.crt`,
        '--anonymous-auth=false',
        ...(flags?.(plane) ?? []),
      ],
    });
    await plane.post('/api/v1/nodes', { metadata: { name: 'n1' } });
    await plane.patch('/api/v1/nodes/n1/status', {
      status: {
        addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
        daemonEndpoints: { [plane.words.nodeAgentEndpointMember]: { Port: port } },
      },
    });
  });
  afterAll(async () => {
    await agent[Symbol.asyncDispose]();
    await dir[Symbol.asyncDispose]();
  });

  async function describe(found: Pod): Promise<string> {
    const name = found.metadata?.name ?? '';
    await plane.post('/api/v1/namespaces/default/pods', {
      metadata: { name, labels: found.metadata?.labels ?? {} },
      spec: { ...found.spec, nodeName: 'n1' },
    });
    const { phase, podIP, podIPs, containerStatuses, conditions } = found.status ?? {};
    const status = { phase, podIP, podIPs, containerStatuses, conditions };
    await plane.patch(`/api/v1/namespaces/default/pods/${name}/status`, { status });
    return name;
  }

  return {
    plane,
    agent: () => agent,
    port: () => port,
    readOnlyPort: () => readOnlyPort,
    async run(name, spec) {
      await agent.put(`${name}.json`, manifest(name, spec));
      return describe(await agent.waitFor(name, isReady));
    },
  };
}
