/** Admission by capacity on a standalone node: admitted pods, retries, and preemption. */
import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Pod, PodSpec } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { freePort } from '../../testing/free-port.ts';
import { eventually } from '../../testing/wait.ts';
import { containerId, type Harness, isRunning, pod, sh, startHarness, WAIT } from './support.ts';

const MILLICORES = availableParallelism() * 1000;
const { agentComponent, podsCgroup } = VOCABULARIES.plat;

let harness: Harness;
let port = 0;
beforeAll(async () => {
  port = await freePort();
  harness = await startHarness(['--enable-server', `--read-only-port=${port}`, `--port=${await freePort()}`]);
});
afterAll(async () => harness[Symbol.asyncDispose]());

/** A pod that requests this fraction of the node's CPUs. */
function manifestOf(name: string, part: number, more: Partial<PodSpec> = {}): string {
  const requests = { cpu: `${Math.floor(MILLICORES * part)}m` };
  return pod(name, { containers: [sh('c', WAIT, { resources: { requests } })], ...more });
}

const put = (name: string, part: number, more?: Partial<PodSpec>): Promise<void> =>
  harness.agent.put(`${name}.json`, manifestOf(name, part, more));

const failed = (name: string): Promise<Pod> =>
  harness.agent.waitFor(name, ({ status }) => status?.phase === 'Failed');

test('a pod that requests more than the node has is rejected, with the capacity', async () => {
  await put('huge', 25);
  expect((await failed('huge')).status).toMatchObject({
    reason: 'OutOfcpu',
    message: `Pod was rejected: the node has insufficient cpu: requested ${MILLICORES * 25}, used 0, capacity ${MILLICORES}`,
  });
  expect(await harness.event('huge', 'OutOfcpu')).toContain('insufficient cpu');
  await harness.agent.drop('huge.json');
});

test('running pods stay, whatever the next agent’s allocatable; a rejected one is retried when capacity frees up', async () => {
  await put('first', 0.5);
  await put('second', 0.4);
  const before = containerId(await harness.agent.waitFor('first', isRunning('c')), 'c');
  await harness.agent.waitFor('second', isRunning('c'));
  // The uninstaller needs this file.
  expect(await readFile(`${harness.agent.root}/pods-cgroup`, 'utf8')).toBe(
    `${harness.agent.cgroup}/${podsCgroup}\n`,
  );
  await put('waits', 0.3);
  expect((await failed('waits')).status?.reason).toBe('OutOfcpu');

  await harness.agent.stop();
  await harness.agent.start([`--system-reserved=cpu=${Math.floor(MILLICORES * 0.5)}m`]);
  await harness.agent.waitFor('second', isRunning('c'));
  expect(containerId(await harness.agent.waitFor('first', isRunning('c')), 'c')).toBe(before);

  await harness.agent.stop();
  await harness.agent.start();
  await harness.agent.drop('second.json');
  const { status } = await harness.agent.waitFor('waits', isRunning('c'));
  expect(status?.containerStatuses?.[0]?.restartCount).toBe(0);
  await harness.agent.drop('waits.json');
  await eventually(async () => (await harness.agent.pod('waits')) === undefined, { timeoutMs: 20_000 });
});

test('for a critical pod, those of manifests make no room, and those that were applied do', async () => {
  const critical = { priorityClassName: 'system-node-critical' };
  await harness.agent.apply(manifestOf('applied', 0.4));
  await harness.agent.waitFor('applied', isRunning('c'));
  await put('most', 0.8, critical);
  expect((await failed('most')).status?.reason).toBe('OutOfcpu');
  await put('vital', 0.3, critical);
  await harness.agent.waitFor('vital', isRunning('c'));
  expect((await failed('applied')).status).toMatchObject({
    reason: 'Preempting',
    message: 'Preempted in order to admit critical pod',
  });
  await harness.agent.waitFor('first', isRunning('c'));
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  expect(metrics).toContain(`\n${agentComponent}_preemptions{preemption_signal="cpu"} 1\n`);
});
