/** The server of a joined node: the API server finds it by the node's status, and both authenticate each
 *  other. */
import type { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Node } from '#api/gen/core-v1.ts';
import type { PodMetrics } from '#api/gen/metrics-v1beta1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import { sh, WAIT } from '../lifecycle/support.ts';
import { useKubectl } from '../plane-clients/kubectl.ts';
import { type Joined, NODE, STRATEGIC, startJoined } from './support.ts';

/** Returns the certificate of the agent's server. */
async function shown(port: number): Promise<X509Certificate> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  try {
    await once(socket, 'secureConnect');
    const certificate = socket.getPeerX509Certificate();
    if (certificate === undefined) throw new Error('no certificate was shown');
    return certificate;
  } finally {
    socket.destroy();
  }
}

describe('a node that joined', () => {
  let joined: Joined;
  const { ok, run, start } = useKubectl(() => joined.plane.platconfigFile);
  beforeAll(async () => {
    joined = await startJoined(({ dir }) => [
      '--enable-server=true',
      '--rotate-server-certificates',
      '--read-only-port=0',
      `--client-ca-file=${dir}/pki/ca.crt`,
      '--anonymous-auth=false',
      '--authentication-token-webhook=true',
      '--authorization-mode=Webhook',
    ]);
    await eventually(async () => (await joined.plane.get('/api/v1/nodes/n1/proxy/healthz')).text === 'ok');
    await joined.run('web', {
      hostNetwork: false,
      containers: [sh('main', `echo begun; read -r line; echo "heard $line"; ${WAIT}`, { stdin: true })],
    });
    await joined.shows('web', isReady);
  });
  afterAll(() => joined[Symbol.asyncDispose]());

  test('serves logs, and forwards attached input', async () => {
    await using logs = start(['logs', '-f', 'web']);
    expect(await logs.line()).toBe('begun');
    await using attached = start(['attach', '-i', 'web']);
    attached.say('you\n');
    expect(await logs.line()).toBe('heard you');
  });

  test('runs commands', async () => {
    expect(await ok(['exec', 'web', '--', 'echo', 'hello'])).toBe('hello');
    expect((await run(['exec', 'web', '--', 'sh', '-c', 'exit 5'])).code).toBe(5);
  });

  test('shows a certificate for each address that the node gets', async () => {
    const node = (await joined.plane.get(`/api/v1/nodes/${NODE}`)).json as Node;
    const port = node.status?.daemonEndpoints?.nodeAgentEndpoint?.Port ?? 0;
    const before = await shown(port);
    expect(
      before.checkIP(node.status?.addresses?.find(({ type }) => type === 'InternalIP')?.address ?? ''),
    ).toBeDefined();
    expect(before.checkHost('n1.example.com')).toBeUndefined();
    const addresses = [{ type: 'ExternalDNS', address: 'n1.example.com' }];
    await joined.patch(`/api/v1/nodes/${NODE}/status`, { status: { addresses } }, STRATEGIC);
    await eventually(async () => (await shown(port)).checkHost('n1.example.com') !== undefined);
  });

  test('serves the metrics that autoscalers read', async () => {
    const text = await ok(['get', '--raw', '/api/v1/nodes/n1/proxy/metrics/resource']);
    expect(text).toMatch(/^pod_memory_working_set_bytes\{namespace="default",pod="web"\} [1-9]/m);
  });

  test('has its pods’ metrics in the metrics API, in either vocabulary', async () => {
    const group = `metrics.${VOCABULARIES.plat.apiGroupDomain}`;
    const metrics = await eventually(async () => {
      const response = await joined.plane.get(`/apis/${group}/v1beta1/namespaces/default/pods/web`);
      return response.status === 200 && (response.json as PodMetrics);
    });
    expect(metrics).toMatchObject({ apiVersion: `${group}/v1beta1`, containers: [{ name: 'main' }] });
  });
});
