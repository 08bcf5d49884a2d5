/** The server of a node that joined: the API server finds it by what the node says of itself, and each knows who the
 *  other is. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import { sh, WAIT } from '../lifecycle/support.ts';
import { useKubectl } from '../plane-strangers/testing/kubectl.ts';
import { type Joined, startJoined } from './support.ts';

describe('a node that joined', () => {
  let joined: Joined;
  const { ok, run, start } = useKubectl(() => joined.plane.platconfigFile);
  beforeAll(async () => {
    joined = await startJoined(({ dir }) => [
      '--enable-server=true',
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

  test('shows what its containers say, and lets in what they hear', async () => {
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

  test('tells the metrics that autoscalers read', async () => {
    const text = await ok(['get', '--raw', '/api/v1/nodes/n1/proxy/metrics/resource']);
    expect(text).toMatch(/^pod_memory_working_set_bytes\{namespace="default",pod="web"\} [1-9]/m);
  });
});
