/** Containers that the agent did not create, and containers added to a pod later. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import { containerId, IMAGE, pod, sh, startHarness, statusOf, WAIT } from './support.ts';

test('foreign containers are left alone, even under the same names', async () => {
  await using harness = await startHarness([
    '--maximum-dead-containers-per-container=0',
    '--maximum-dead-containers=0',
    '--minimum-container-ttl-duration=0s',
  ]);
  const { runtime } = harness.cri;
  const uid = randomUUID();
  const linux = { securityContext: { namespaceOptions: { network: 'NODE', pid: 'CONTAINER' } } } as const;
  const config = { metadata: { name: 'mine-n1', namespace: 'default', uid, attempt: 0 }, linux } as const;
  const { podSandboxId } = await runtime.runPodSandbox({ config });
  const make = async (name: string, script: string) => {
    const made = await runtime.createContainer({
      podSandboxId,
      config: { metadata: { name, attempt: 0 }, image: { image: IMAGE }, command: ['sh', '-c', script] },
      sandboxConfig: config,
    });
    await runtime.startContainer(made);
    return made.containerId;
  };
  const running = await make('runs', WAIT);
  const ended = await make('ended', 'exit 1');
  await harness.agent.put('mine.json', pod('mine', { containers: [sh('runs', WAIT)] }));
  await harness.agent.waitFor('mine', isReady);
  await harness.agent.stop('SIGKILL');
  await harness.agent.start();
  await harness.agent.waitFor('mine', isReady);
  await harness.agent.drop('mine.json');
  await eventually(async () => (await harness.agent.pods()).length === 0, { timeoutMs: 20_000 });
  const { containers } = await runtime.listContainers({ filter: { podSandboxId } });
  const states = Object.fromEntries(containers.map(({ id, state }) => [id, state]));
  expect(states).toEqual({ [running]: 'CONTAINER_RUNNING', [ended]: 'CONTAINER_EXITED' });
  await runtime.stopPodSandbox({ podSandboxId });
  await runtime.removePodSandbox({ podSandboxId });
});

test('an agent with another root leaves the pods of this one alone', async () => {
  await using one = await startHarness();
  await one.agent.put('theirs.json', pod('theirs', { containers: [sh('c', WAIT)] }));
  const before = await one.agent.waitFor('theirs', isReady);
  await using other = await startHarness();
  await other.agent.put('theirs.json', pod('theirs', { containers: [sh('c', WAIT)] }));
  await other.agent.waitFor('theirs', isReady);
  await other.agent.drop('theirs.json');
  await eventually(async () => (await other.agent.pods()).length === 0, { timeoutMs: 20_000 });
  const after = await one.agent.waitFor('theirs', isReady);
  expect(containerId(after, 'c')).toBe(containerId(before, 'c'));
  expect(statusOf(after, 'c')?.restartCount).toBe(0);
});
