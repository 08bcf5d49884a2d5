/** The agent on docker: inside its process, and through the server for any client of CRI. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { silentLogger } from '#api/kit/logger.ts';
import { connectRuntime } from '#cri/client/connection.ts';
import { TestAgent } from '../../../../testing/agent.ts';
import { runCli } from '../../../../testing/cli.ts';
import { startTestDockerd } from '../../../../testing/dockerd.ts';
import { eventually } from '../../../../testing/wait.ts';
import { runPod, startIn, statusOf } from './pod.fixture.ts';

const POD = `apiVersion: v1
kind: Pod
metadata: { name: web, namespace: default }
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: local/busybox:1
      imagePullPolicy: Never
      command: ['sh', '-c', 'echo started; while test ! -e /end; do sleep 0.02; done']
      volumeMounts: [{ name: data, mountPath: /data }]
  volumes: [{ name: data, emptyDir: {} }]
`;

test('an agent runs a pod on docker, restarts its container, adopts it, and deletes it', async () => {
  await using dockerd = await startTestDockerd();
  await using agent = await TestAgent.create({
    endpoint: '',
    flags: [
      '--container-runtime=docker',
      `--docker-endpoint=unix://${dockerd.socketPath}`,
      '--pod-infra-container-image=local/pause:1',
    ],
  });
  await agent.apply(POD);
  const running = async (restarts: number) => {
    const status = (await agent.pod('web'))?.status;
    const [container] = status?.containerStatuses ?? [];
    const isRunning = status?.phase === 'Running' && container?.state?.running !== undefined;
    return isRunning && container.restartCount === restarts ? status : undefined;
  };
  const first = await eventually(() => running(0), { timeoutMs: 30_000 });
  expect(first.podIP).toMatch(/^10\.251\.0\.\d+$/);
  const idOf = (status: typeof first): string =>
    (status.containerStatuses?.[0]?.containerID ?? '').replace('docker://', '');
  const run = async (command: readonly string[]): Promise<void> => {
    const spec = { command, stdin: false, stdout: true, stderr: true, tty: false };
    const connection = await dockerd.client.startExec(
      await dockerd.client.createExec(idOf(first), spec),
      false,
    );
    connection.resume();
    await once(connection, 'close');
  };
  await run(['touch', '/end']);
  const second = await eventually(() => running(1), { timeoutMs: 30_000 });
  expect(idOf(second)).not.toBe(idOf(first));
  expect(await agent.stop()).toBe(0);
  await agent.start();
  const doctor = await runCli(agent, ['doctor']);
  expect(doctor.out).toMatch(/^runtime +API version +ok +1\.\d+$/m);
  const adopted = await eventually(() => running(1), { timeoutMs: 30_000 });
  expect(idOf(adopted)).toBe(idOf(second));
  for (const { metadata } of await agent.pods())
    await agent.call('DELETE', `/pods/default/${metadata?.name ?? ''}`);
  await eventually(async () => (await dockerd.client.list({})).length === 0, { timeoutMs: 30_000 });
});

test('cri-docker serves docker to a client of CRI', async () => {
  await using dockerd = await startTestDockerd();
  const socket = `${dockerd.folder}/cri.sock`;
  const program = ['agent/bin.ts', 'cri-docker', `--socket=${socket}`, `--root-dir=${dockerd.folder}/root`];
  const flags = [`--docker-endpoint=${dockerd.socketPath}`, '--pod-infra-container-image=local/pause:1'];
  const child = spawn(process.execPath, [...program, ...flags], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  try {
    const cri = connectRuntime({ endpoint: `unix://${socket}`, log: silentLogger });
    await cri.whenConnected(AbortSignal.timeout(30_000));
    await eventually(async () => (await cri.runtime.version({})).runtimeName === 'docker', {
      timeoutMs: 30_000,
    });
    const pod = await runPod(cri, `${dockerd.folder}/logs`);
    const containerId = await startIn(cri, pod, 'sleep 1000');
    expect((await statusOf(cri, containerId)).state).toBe('CONTAINER_RUNNING');
    await cri.runtime.removePodSandbox({ podSandboxId: pod.podSandboxId });
    cri.close();
  } finally {
    child.kill('SIGTERM');
    await exited;
  }
});
