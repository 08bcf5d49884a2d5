/** Our agent as a node of upstream's API server, joined by a bootstrap token. */
import { writeFile } from 'node:fs/promises';
import { inject } from 'vitest';
import { formatPlatconfig } from '#agent/certs/platconfig.ts';
import type { Pod } from '#api/gen/core-v1.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { type CriConnection, connectRuntime } from '#cri/client/connection.ts';
import { TestAgent } from '../../testing/agent.ts';
import { freePort } from '../../testing/free-port.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { containerId } from '../lifecycle/support.ts';
import { startUpstreamServer, type UpstreamServer } from './api-server.ts';
import { CLIENT_SIGNER, grantRequest, SERVING_SIGNER } from './certificates.ts';

const WORDS = VOCABULARIES.kubernetes;
export const NODE = 'n1';
export const PODS = '/api/v1/namespaces/default/pods';
const TOKEN = { id: 'abcdef', secret: '0123456789abcdef' };

export interface OnUpstream extends AsyncDisposable {
  readonly server: UpstreamServer;
  readonly agent: TestAgent;
  readonly cri: CriConnection;
  /** Users that requested the client and the serving certificate. */
  readonly requesters: readonly string[];
  /** Creates a pod, and binds it as a scheduler does. */
  run(name: string, spec: object): Promise<void>;
  /** Waits until the pod on the server fulfills the condition. */
  shows(name: string, condition: (pod: Pod) => boolean): Promise<Pod>;
  isGone(name: string): Promise<void>;
  /** Returns the output of a command in the pod's container `c`. */
  inside(pod: Pod, script: string): Promise<string>;
}

/** Creates a bootstrap token that authorizes certificate requests, as cluster installers do. */
async function addToken(server: UpstreamServer): Promise<string> {
  const group = 'system:bootstrappers:nodes';
  await server.create(`/api/v1/namespaces/${WORDS.systemNamespace}/secrets`, {
    metadata: { name: `bootstrap-token-${TOKEN.id}` },
    type: WORDS.secretTypeBootstrapToken,
    stringData: {
      'token-id': TOKEN.id,
      'token-secret': TOKEN.secret,
      'usage-bootstrap-authentication': 'true',
      'auth-extra-groups': group,
    },
  });
  const rbac = `rbac.authorization.${WORDS.apiGroupDomain}`;
  await server.create(`/apis/${rbac}/v1/clusterrolebindings`, {
    metadata: { name: 'bootstrappers' },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'system:node-bootstrapper' },
    subjects: [{ apiGroup: rbac, kind: 'Group', name: group }],
  });
  return `${TOKEN.id}.${TOKEN.secret}`;
}

async function startAgent(server: UpstreamServer, token: string): Promise<TestAgent> {
  const folder = await createTempDir('na-agent-');
  const bootstrap = `${folder.path}/bootstrap`;
  const tls = { authority: server.authority.certificate, insecure: false };
  await writeFile(bootstrap, formatPlatconfig({ server: server.url, tls }, { token }));
  const agent = await TestAgent.create({
    endpoint: inject('criEndpoint'),
    folder,
    start: false,
    flags: [
      '--vocabulary=kubernetes',
      `--platconfig=${folder.path}/platconfig`,
      `--bootstrap-kubeconfig=${bootstrap}`,
      `--cert-dir=${folder.path}/pki`,
      '--rotate-certificates',
      '--rotate-server-certificates',
      '--enable-server',
      `--port=${await freePort()}`,
      '--read-only-port=0',
      `--client-ca-file=${server.dir}/ca.crt`,
      '--anonymous-auth=false',
      '--authentication-token-webhook',
      '--authorization-mode=Webhook',
      '--plat-api-qps=200',
      '--plat-api-burst=400',
    ],
  });
  agent.spawn();
  return agent;
}

export async function startOnUpstream(): Promise<OnUpstream> {
  await using started = new AsyncDisposableStack();
  const server = started.use(await startUpstreamServer());
  const agent = started.use(await startAgent(server, await addToken(server)));
  // The agent does not exit before its pods have stopped, and those of the server stop only when it exits.
  started.defer(async () => {
    await server.call('DELETE', PODS, { gracePeriodSeconds: 1 });
  });
  const requesters = [await grantRequest(server, CLIENT_SIGNER), await grantRequest(server, SERVING_SIGNER)];
  const cri = connectRuntime({ endpoint: inject('criEndpoint'), log: silentLogger });
  started.defer(() => cri.close());
  await cri.whenConnected();
  const all = started.move();
  return {
    server,
    agent,
    cri,
    requesters,
    async run(name, spec) {
      await server.create(PODS, {
        metadata: { name },
        spec: { hostNetwork: true, terminationGracePeriodSeconds: 1, ...spec },
      });
      await server.create(`${PODS}/${name}/binding`, {
        metadata: { name },
        target: { kind: 'Node', name: NODE },
      });
    },
    shows: (name, condition) =>
      eventually(
        async () => {
          const { status, text } = await server.call('GET', `${PODS}/${name}`);
          if (status !== 200) throw new Error(text);
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the server says is what is tested
          const pod = JSON.parse(text) as Pod;
          if (condition(pod)) return pod;
          throw new Error(`it is ${JSON.stringify(pod.status)}\n${(await agent.log()).slice(-4000)}`);
        },
        { timeoutMs: 30_000, intervalMs: 100, what: `pod ${name}: ${condition.toString().slice(0, 120)}` },
      ),
    async isGone(name) {
      await eventually(async () => (await server.call('GET', `${PODS}/${name}`)).status === 404, {
        timeoutMs: 30_000,
        what: `pod ${name} is gone`,
      });
    },
    async inside(pod, script) {
      const request = { containerId: containerId(pod, 'c'), cmd: ['sh', '-c', script], timeout: 10n };
      return Buffer.from((await cri.runtime.execSync(request)).stdout).toString();
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
