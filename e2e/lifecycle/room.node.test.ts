/** Room on a node without a server: who is taken on, who waits until there is some, and who makes some. */
import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Pod, PodSpec } from '#api/schema/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { freePort } from '../../testing/free-port.ts';
import { eventually } from '../../testing/wait.ts';
import { type Bench, containerId, isRunning, pod, sh, startBench, WAIT } from './support.ts';

const MILLICORES = availableParallelism() * 1000;
const { agentComponent, podsCgroup } = VOCABULARIES.plat;

let bench: Bench;
let port = 0;
beforeAll(async () => {
  port = await freePort();
  bench = await startBench(['--enable-server', `--read-only-port=${port}`, `--port=${await freePort()}`]);
});
afterAll(async () => bench[Symbol.asyncDispose]());

/** A pod that asks for that part of the node's processors. */
function asking(name: string, part: number, more: Partial<PodSpec> = {}): string {
  const requests = { cpu: `${Math.floor(MILLICORES * part)}m` };
  return pod(name, { containers: [sh('c', WAIT, { resources: { requests } })], ...more });
}

const put = (name: string, part: number, more?: Partial<PodSpec>): Promise<void> =>
  bench.agent.put(`${name}.json`, asking(name, part, more));

const failed = (name: string): Promise<Pod> =>
  bench.agent.waitFor(name, ({ status }) => status?.phase === 'Failed');

test('a pod that asks for more than the node has is refused, and told what there is', async () => {
  await put('huge', 25);
  expect((await failed('huge')).status).toMatchObject({
    reason: 'OutOfcpu',
    message: `Pod was refused: the node has not enough cpu: requested ${MILLICORES * 25}, used 0, capacity ${MILLICORES}`,
  });
  expect(await bench.event('huge', 'OutOfcpu')).toContain('not enough cpu');
  await bench.agent.drop('huge.json');
});

test('pods that run stay, whatever the next agent makes of the node; one that waits comes when there is room', async () => {
  await put('first', 0.5);
  await put('second', 0.4);
  const before = containerId(await bench.agent.waitFor('first', isRunning('c')), 'c');
  await bench.agent.waitFor('second', isRunning('c'));
  // For whoever takes the agent away.
  expect(await readFile(`${bench.agent.root}/pods-cgroup`, 'utf8')).toBe(
    `${bench.agent.cgroup}/${podsCgroup}\n`,
  );
  await put('waits', 0.3);
  expect((await failed('waits')).status?.reason).toBe('OutOfcpu');

  await bench.agent.stop();
  await bench.agent.start([`--system-reserved=cpu=${Math.floor(MILLICORES * 0.5)}m`]);
  await bench.agent.waitFor('second', isRunning('c'));
  expect(containerId(await bench.agent.waitFor('first', isRunning('c')), 'c')).toBe(before);

  await bench.agent.stop();
  await bench.agent.start();
  await bench.agent.drop('second.json');
  const { status } = await bench.agent.waitFor('waits', isRunning('c'));
  expect(status?.containerStatuses?.[0]?.restartCount).toBe(0);
  await bench.agent.drop('waits.json');
  await eventually(async () => (await bench.agent.pod('waits')) === undefined, { timeoutMs: 20_000 });
});

test('for a critical pod, those of manifests make no room, and those that were applied do', async () => {
  const critical = { priorityClassName: 'system-node-critical' };
  await bench.agent.apply(asking('applied', 0.4));
  await bench.agent.waitFor('applied', isRunning('c'));
  await put('most', 0.8, critical);
  expect((await failed('most')).status?.reason).toBe('OutOfcpu');
  await put('vital', 0.3, critical);
  await bench.agent.waitFor('vital', isRunning('c'));
  expect((await failed('applied')).status).toMatchObject({
    reason: 'Preempting',
    message: 'Preempted in order to admit critical pod',
  });
  await bench.agent.waitFor('first', isRunning('c'));
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  expect(metrics).toContain(`\n${agentComponent}_preemptions{preemption_signal="cpu"} 1\n`);
});
