/** Runs that end: `--runonce`, and agents that share a lock file. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { isReady, TestAgent } from '../../testing/agent.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';

const podText = (name: string, more: object = {}): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      hostNetwork: true,
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'main', image: 'local/busybox:1', command: ['sleep', '100000'], ...more }],
    },
  });

test('--runonce starts the pods of the manifests, exits with 0, and leaves them running', async () => {
  await using agent = await TestAgent.create({ endpoint: inject('criEndpoint'), start: false });
  await agent.put('web.json', podText('web'));
  agent.spawn(['--runonce']);
  expect(await agent.exited()).toBe(0);
  expect(await agent.log()).toContain('Pods started once');
  await agent.start();
  const pod = await agent.waitFor('web', isReady);
  expect(pod.status?.containerStatuses?.[0]?.restartCount).toBe(0);
});

test('--runonce exits with 1 and names the pods that failed', async () => {
  await using agent = await TestAgent.create({ endpoint: inject('criEndpoint'), start: false });
  await agent.put('web.json', podText('web'));
  await agent.put('big.json', podText('big', { resources: { requests: { cpu: '100000' } } }));
  agent.spawn(['--runonce']);
  expect(await agent.exited()).toBe(1);
  expect(await agent.log()).toMatch(/Failed to start pods once/);
  expect(await agent.log()).toMatch(/default\/big-n1: OutOfcpu/);
});

test('an agent that exits on contention leaves the lock file to the next one', async () => {
  const endpoint = inject('criEndpoint');
  await using dir = await createTempDir();
  const flags = [`--lock-file=${join(dir.path, 'lock')}`];
  await using first = await TestAgent.create({ endpoint, flags: [...flags, '--exit-on-lock-contention'] });
  await using second = await TestAgent.create({ endpoint, flags, start: false });
  await second.start();
  expect(await first.exited()).toBe(0);
  expect(await first.log()).toContain('Lock file requested by another process; stopping');
  // The first one starts again for its removal, and waits for the second one.
  await second.stop();
});

test('an agent waits for the lock file of another one', async () => {
  const endpoint = inject('criEndpoint');
  await using dir = await createTempDir();
  const flags = [`--lock-file=${join(dir.path, 'lock')}`];
  await using first = await TestAgent.create({ endpoint, flags });
  await using second = await TestAgent.create({ endpoint, flags, start: false });
  second.spawn();
  await eventually(async () => (await readFile(join(second.folder, 'agent.log'), 'utf8')).includes('held'), {
    what: 'the second agent waits',
  });
  expect(await second.stop()).toBe(0);
  await first.stop();
});
