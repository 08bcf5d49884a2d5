/** Restarts of docker and of the agent, and containers of others. */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { watchRuntimeEvents } from '#cri/client/events.ts';
import { startTestDockerd } from '../../../../testing/dockerd.ts';
import { eventually } from '../../../../testing/wait.ts';
import { connectTo } from './docker-runtime.fixture.ts';
import { runPod, startIn, statusOf, untilExited } from './pod.fixture.ts';

const RECONNECT_MS = 30_000;

test('containers of others and of other nodes are neither listed nor touched', async () => {
  await using dockerd = await startTestDockerd();
  const foreign = await dockerd.client.create('foreign', {
    Image: 'local/busybox:1',
    Cmd: ['sleep', '1000'],
  });
  await dockerd.client.start(foreign);
  await using first = await connectTo(dockerd);
  await using second = await connectTo(dockerd, { node: 'node-2' });
  const logRoot = `${dockerd.folder}/logs`;
  const pod = await runPod(first.cri, logRoot);
  const containerId = await startIn(first.cri, pod, 'sleep 1000');
  expect((await second.cri.runtime.listPodSandbox({})).items).toEqual([]);
  expect((await second.cri.runtime.listContainers({})).containers).toEqual([]);
  for (const id of [foreign, containerId]) {
    await second.cri.runtime.stopContainer({ containerId: id });
    await second.cri.runtime.removeContainer({ containerId: id });
  }
  await second.cri.runtime.removePodSandbox({ podSandboxId: pod.podSandboxId });
  expect((await dockerd.client.inspect(foreign)).isRunning).toBe(true);
  expect((await statusOf(first.cri, containerId)).state).toBe('CONTAINER_RUNNING');
});

test('a new runtime has the containers of the last one, and the exits in between', async () => {
  await using dockerd = await startTestDockerd();
  const logRoot = `${dockerd.folder}/logs`;
  const before = await connectTo(dockerd);
  const pod = await runPod(before.cri, logRoot);
  const stays = await startIn(before.cri, pod, 'sleep 1000');
  const ends = await startIn(before.cri, pod, 'while test ! -e /end; do sleep 0.01; done; echo last; exit 4');
  const known = await statusOf(before.cri, stays);
  const { logPath } = await statusOf(before.cri, ends);
  await before[Symbol.asyncDispose]();
  const exec = await dockerd.client.createExec(ends, {
    command: ['touch', '/end'],
    stdin: false,
    stdout: true,
    stderr: true,
    tty: false,
  });
  (await dockerd.client.startExec(exec, false)).resume();
  await eventually(async () => !(await dockerd.client.inspect(ends)).isRunning);
  await using after = await connectTo(dockerd);
  const status = await statusOf(after.cri, stays);
  expect(status).toMatchObject({
    state: 'CONTAINER_RUNNING',
    metadata: known.metadata,
    logPath: known.logPath,
  });
  expect(await statusOf(after.cri, ends)).toMatchObject({ state: 'CONTAINER_EXITED', exitCode: 4 });
  expect(await readFile(logPath, 'utf8')).toMatch(/ stdout F last\n$/);
});

test('after a restart of docker without live-restore, everything has ended, and events say so', async () => {
  await using dockerd = await startTestDockerd();
  await using runtime = await connectTo(dockerd);
  const { cri } = runtime;
  const pod = await runPod(cri, `${dockerd.folder}/logs`);
  const containerId = await startIn(cri, pod, "trap 'exit 0' TERM; sleep 1000 & wait");
  const stop = new AbortController();
  let resyncs = 0;
  const watching = (async () => {
    for await (const { kind } of watchRuntimeEvents(cri, {
      clock: systemClock,
      log: silentLogger,
      signal: stop.signal,
    })) {
      if (kind === 'resync') resyncs += 1;
    }
  })();
  await eventually(() => resyncs === 1);
  await dockerd.stop('SIGTERM');
  await eventually(() => cri.state() === 'away');
  await expect(cri.runtime.listPodSandbox({})).rejects.toMatchObject({
    reason: 'Unavailable',
    retryable: true,
  });
  await dockerd.startAgain();
  await eventually(() => resyncs === 2, { timeoutMs: RECONNECT_MS });
  expect(await statusOf(cri, containerId)).toMatchObject({ state: 'CONTAINER_EXITED' });
  const { status } = await cri.runtime.podSandboxStatus({ podSandboxId: pod.podSandboxId });
  expect(status?.state).toBe('SANDBOX_NOTREADY');
  await cri.runtime.removePodSandbox({ podSandboxId: pod.podSandboxId });
  expect((await cri.runtime.listContainers({})).containers).toEqual([]);
  stop.abort();
  await watching;
});

test('with live-restore, containers survive the death of docker, and their logs are whole', async () => {
  await using dockerd = await startTestDockerd({ liveRestore: true });
  await using runtime = await connectTo(dockerd);
  const { cri } = runtime;
  const pod = await runPod(cri, `${dockerd.folder}/logs`);
  const script = 'i=0; while test ! -e /end; do i=$((i+1)); echo $i; sleep 0.01; done';
  const containerId = await startIn(cri, pod, script);
  const { logPath } = await statusOf(cri, containerId);
  await dockerd.stop('SIGTERM');
  await eventually(() => cri.state() === 'away');
  await dockerd.startAgain();
  await cri.whenConnected(AbortSignal.timeout(RECONNECT_MS));
  expect((await statusOf(cri, containerId)).state).toBe('CONTAINER_RUNNING');
  const length = (await readFile(logPath, 'utf8')).length;
  await eventually(async () => (await readFile(logPath, 'utf8')).length > length);
  await cri.runtime.execSync({ containerId, cmd: ['touch', '/end'], timeout: 10n });
  expect((await untilExited(cri, containerId)).exitCode).toBe(0);
  const numbers = (await readFile(logPath, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => Number(line.split(' ').at(-1)));
  expect(numbers).toEqual(numbers.map((_, index) => index + 1));
});
