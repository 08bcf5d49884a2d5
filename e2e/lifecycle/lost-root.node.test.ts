/** Loss of the agent's root directory while its pods keep running. */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import { containerId, pod, sh, startHarness, statusOf, WAIT } from './support.ts';

test('pods of a lost root directory are replaced; those of another live agent are left alone', async () => {
  await using other = await startHarness();
  await other.agent.put('theirs.json', pod('theirs', { containers: [sh('c', WAIT)] }));
  const theirs = await other.agent.waitFor('theirs', isReady);
  await using harness = await startHarness();
  const { agent, cri } = harness;
  await agent.put('stays.json', pod('stays', { containers: [sh('c', WAIT)] }));
  await agent.put('goes.json', pod('goes', { containers: [sh('c', WAIT)] }));
  const before = await agent.waitFor('stays', isReady);
  const goes = await agent.waitFor('goes', isReady);
  await agent.stop('SIGKILL');
  for (const name of await readdir(agent.root)) await rm(join(agent.root, name), { recursive: true });
  await rm(join(agent.manifests, 'goes.json'));

  await agent.start();
  const after = await agent.waitFor('stays', isReady);
  expect(containerId(after, 'c')).not.toBe(containerId(before, 'c'));
  // Unwanted pods are removed.
  const labelled = (uid = '') =>
    cri.runtime.listPodSandbox({}).then(({ items }) => items.filter(({ metadata }) => metadata?.uid === uid));
  await eventually(async () => (await labelled(goes.metadata?.uid)).length === 0, {
    what: 'the stray is gone',
  });
  expect(await labelled(after.metadata?.uid)).toHaveLength(1);
  const unharmed = await other.agent.waitFor('theirs', isReady);
  expect(containerId(unharmed, 'c')).toBe(containerId(theirs, 'c'));
  expect(statusOf(unharmed, 'c')?.restartCount).toBe(0);
});
