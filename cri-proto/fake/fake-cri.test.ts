/** Test controls of the fake; its behaviour as a runtime is covered by the contract. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFakeClock, type FakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { type CriConnection, connectRuntime } from '../client/connection.ts';
import { type FakeCri, startFakeCri } from './fake-cri.ts';

let dir: TempDir;
let clock: FakeClock;
let fake: FakeCri;
let cri: CriConnection;

beforeEach(async () => {
  dir = await createTempDir();
  clock = createFakeClock();
  fake = await startFakeCri({ socketPath: `${dir.path}/f.sock`, clock });
  fake.images.add({ reference: 'local/busybox:1', uid: 1000 });
  cri = connectRuntime({ endpoint: fake.endpoint, log: silentLogger });
});

afterEach(async () => {
  cri.close();
  await fake.close();
  await dir[Symbol.asyncDispose]();
});

const config = { metadata: { name: 'p', uid: 'u', namespace: 'n' } };

async function startContainer(): Promise<string> {
  const { podSandboxId } = await cri.runtime.runPodSandbox({ config });
  const container = { metadata: { name: 'c' }, image: { image: 'local/busybox:1' } };
  const { containerId } = await cri.runtime.createContainer({ podSandboxId, config: container });
  await cri.runtime.startContainer({ containerId });
  return containerId;
}

describe('faults', () => {
  test('fail one call before it changes anything', async () => {
    fake.faults.failNext('RunPodSandbox', 'Unknown', 'no network');
    await expect(cri.runtime.runPodSandbox({ config })).rejects.toThrow('RunPodSandbox: no network');
    expect(fake.pods.sandboxes()).toEqual([]);
    await cri.runtime.runPodSandbox({ config });
    expect(fake.pods.sandboxes()).toHaveLength(1);
  });

  test('fail one call after it took effect', async () => {
    fake.faults.failNextAfterwards('RunPodSandbox', 'DeadlineExceeded');
    await expect(cri.runtime.runPodSandbox({ config })).rejects.toMatchObject({ reason: 'DeadlineExceeded' });
    expect(fake.pods.sandboxes()).toHaveLength(1);
  });

  test('delay one call by the clock', async () => {
    fake.faults.delayNext('RunPodSandbox', 5000);
    const call = cri.runtime.runPodSandbox({ config });
    await expect.poll(() => fake.faults.calls().length).toBe(1);
    await clock.advance(4999);
    expect(fake.pods.sandboxes()).toEqual([]);
    await clock.advance(1);
    await call;
    expect(fake.pods.sandboxes()).toHaveLength(1);
  });

  test('hold one call until it is released', async () => {
    const release = fake.faults.hangNext('RunPodSandbox');
    const call = cri.runtime.runPodSandbox({ config });
    await cri.runtime.version({});
    expect(fake.pods.sandboxes()).toEqual([]);
    release();
    await call;
    expect(fake.pods.sandboxes()).toHaveLength(1);
  });
});

describe('containers', () => {
  test('take the stop signal and exit with 143', async () => {
    const containerId = await startContainer();
    await cri.runtime.stopContainer({ containerId, timeout: 30n });
    expect(fake.pods.container(containerId)).toMatchObject({ state: 'CONTAINER_EXITED', exitCode: 143 });
  });

  test('that ignore the stop signal are killed when the time is over', async () => {
    const containerId = await startContainer();
    fake.setStopBehaviour(containerId, { kind: 'ignores' });
    const call = cri.runtime.stopContainer({ containerId, timeout: 30n });
    await expect.poll(() => fake.faults.calls().at(-1)?.method).toBe('StopContainer');
    await clock.advance(29_999);
    expect(fake.pods.container(containerId).state).toBe('CONTAINER_RUNNING');
    await clock.advance(1);
    await call;
    expect(fake.pods.container(containerId)).toMatchObject({ state: 'CONTAINER_EXITED', exitCode: 137 });
  });

  test('killed for memory report it', async () => {
    const containerId = await startContainer();
    fake.pods.exitContainer(containerId, { oomKilled: true });
    const { status } = await cri.runtime.containerStatus({ containerId });
    expect(status).toMatchObject({ reason: 'OOMKilled', exitCode: 137 });
  });

  test('respond to commands as configured', async () => {
    const containerId = await startContainer();
    fake.setExec((_, command) => ({ exitCode: 2, stdout: command.join(' ') }));
    const response = await cri.runtime.execSync({ containerId, cmd: ['ls', '-l'] });
    expect([response.exitCode, Buffer.from(response.stdout).toString()]).toEqual([2, 'ls -l']);
  });

  test('report the configured usage', async () => {
    const containerId = await startContainer();
    fake.setUsage(containerId, { cpuNanoseconds: 5, memoryBytes: 7 });
    const { stats } = await cri.runtime.listContainerStats({});
    expect(stats[0]).toMatchObject({
      cpu: { usageCoreNanoSeconds: { value: 5n } },
      memory: { workingSetBytes: { value: 7n } },
    });
  });
});

test('a published image can be pulled, and has the user it was given', async () => {
  fake.images.publish({ reference: 'local/web:1', username: 'www' });
  const { imageRef } = await cri.images.pullImage({ image: { image: 'local/web:1' } });
  const { image } = await cri.images.imageStatus({ image: { image: imageRef } });
  expect(image).toMatchObject({ repoTags: ['local/web:1'], username: 'www' });
  const busybox = await cri.images.imageStatus({ image: { image: 'local/busybox:1' } });
  expect(busybox.image?.uid?.value).toBe(1000n);
});

test('conditions are those that were configured', async () => {
  const condition = { type: 'NetworkReady', status: false, reason: 'NoNetwork', message: 'no config' };
  fake.setConditions([condition]);
  expect((await cri.runtime.status({})).status?.conditions).toEqual([condition]);
});

test('a sandbox that dies takes its containers along and has no address any more', async () => {
  const containerId = await startContainer();
  const [sandbox] = fake.pods.sandboxes();
  const podSandboxId = sandbox?.id ?? '';
  expect((await cri.runtime.podSandboxStatus({ podSandboxId })).status?.network?.ip).toMatch(/^10\.88\./);
  fake.pods.stopSandbox(podSandboxId);
  const { status } = await cri.runtime.podSandboxStatus({ podSandboxId });
  expect(status).toMatchObject({ state: 'SANDBOX_NOTREADY', network: { ip: '' } });
  expect(fake.pods.container(containerId).state).toBe('CONTAINER_EXITED');
});
