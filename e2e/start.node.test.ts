import { expect, inject, test } from 'vitest';
import { isReady, TestAgent } from '../testing/agent.ts';
import { eventually } from '../testing/wait.ts';

test('runs a pod from the manifest directory, replaces it when it changes, and removes it', async () => {
  await using agent = await TestAgent.create({ endpoint: inject('criEndpoint') });
  const manifest = (text: string): string => `
apiVersion: v1
kind: Pod
metadata: {name: one}
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 0
  containers:
  - {name: c, image: local/busybox:1, command: [sh, -c, 'echo ${text}; sleep 1000']}`;
  // It runs for a moment before its first output.
  const says = (text: string) =>
    eventually(async () => (await agent.get('/containerLogs/default/one-n1/c')) === `${text}\n`, {
      what: `its log is ${text}`,
    });
  await agent.put('one.yaml', manifest('first'));
  const first = await agent.waitFor('one', isReady);
  await says('first');

  await agent.put('one.yaml', manifest('second'));
  const second = await agent.waitFor(
    'one',
    (pod) => pod.metadata?.uid !== first.metadata?.uid && isReady(pod),
  );
  expect(second.metadata?.uid).not.toBe(first.metadata?.uid);
  await says('second');

  await agent.drop('one.yaml');
  await eventually(async () => (await agent.pods()).length === 0);
});
