import { execFile } from 'node:child_process';
import { access, readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '#api/kit/logger.ts';
import { CONTAINERD_CRI_NAMESPACE } from '#api/vocabulary.ts';
import { connectRuntime } from '#cri/client/connection.ts';
import { startTestContainerd, type TestContainerd } from '../../../testing/containerd.ts';
import { eventually } from '../../../testing/wait.ts';
import { bridgeName } from './network.ts';
import { isShimOf, listProcesses, readProcess } from './process.ts';
import { purgeContainerd, type SandboxRemover } from './purge.ts';

interface RunningPod {
  readonly containerID: string;
  readonly ip: string;
  readonly pid: number;
}

/** A pod on the pod network with one sleeping container. */
async function runPod(instance: TestContainerd, name = 'p'): Promise<RunningPod> {
  const connection = connectRuntime({ endpoint: instance.endpoint, log: silentLogger });
  onTestFinished(() => connection.close());
  const { runtime } = connection;
  await connection.whenConnected();
  const config = {
    metadata: { name, namespace: 'n', uid: name, attempt: 0 },
    logDirectory: `${instance.folder}/logs`,
    linux: {},
  };
  // Distinguishes the process of this container from those of concurrent tests.
  const time = String(1_000_000 + Math.floor(Math.random() * 1_000_000_000));
  const { podSandboxId } = await runtime.runPodSandbox({ config });
  const { containerId } = await runtime.createContainer({
    podSandboxId,
    config: {
      metadata: { name: 'c', attempt: 0 },
      image: { image: 'local/busybox:1' },
      command: ['sleep', time],
      logPath: 'c.log',
      linux: {},
    },
    sandboxConfig: config,
  });
  await runtime.startContainer({ containerId });
  const { status } = await runtime.podSandboxStatus({ podSandboxId });
  // A container counts as started just before its process becomes the command.
  const { pid } = await eventually(async () =>
    (await listProcesses()).find(({ args }) => args.join(' ') === `sleep ${time}`),
  );
  return { containerID: containerId, ip: status?.network?.ip ?? '', pid };
}

async function leftovers(instance: TestContainerd, pod: RunningPod): Promise<readonly string[]> {
  const processes = (await listProcesses()).filter(
    (process) => isShimOf(process, instance.socketPath) || process.pid === pod.pid,
  );
  const mounts = (await readFile('/proc/self/mountinfo', 'utf8'))
    .split('\n')
    .filter((line) => line.includes(instance.folder));
  const cgroups = await Promise.all(
    (await readdir('/sys/fs/cgroup')).map(async (hierarchy) => {
      const path = `/sys/fs/cgroup/${hierarchy}/${CONTAINERD_CRI_NAMESPACE}/${pod.containerID}`;
      return access(path).then(
        () => [path],
        () => [],
      );
    }),
  );
  const links = (await readdir('/sys/class/net')).filter(
    (name) => name === bridgeName(instance.folder.slice('/tmp/'.length)),
  );
  return [...processes.map((process) => process.args.join(' ')), ...mounts, ...cgroups.flat(), ...links];
}

describe('purgeContainerd', () => {
  test.each([
    ['asking the runtime first', true],
    ['after the runtime was killed', false],
  ])('leaves nothing of a running pod behind, %s', async (_, alive) => {
    const instance = await startTestContainerd({ restart: false });
    onTestFinished(() => instance.purge());
    const pod = await runPod(instance);
    expect(pod.ip).toMatch(/^10\./);
    expect(pod.pid).toBeGreaterThan(0);
    expect(await leftovers(instance, pod)).not.toEqual([]);
    if (!alive) process.kill(instance.containerd.pid ?? 0, 'SIGKILL');
    await instance.purge();
    expect(await leftovers(instance, pod)).toEqual([]);
  });

  test.each<[string, readonly ('rootDir' | 'stateDir')[], boolean]>([
    ['its images and metadata', ['rootDir'], false],
    ['its state', ['stateDir'], false],
    ['both', ['rootDir', 'stateDir'], false],
    ['both, while it runs', ['rootDir', 'stateDir'], true],
  ])('leaves nothing behind of an instance that has lost %s', async (_, lost, alive) => {
    const instance = await startTestContainerd({ restart: false });
    onTestFinished(() => instance.purge());
    const pod = await runPod(instance);
    const { layout, pid = 0 } = instance.containerd;
    if (!alive) {
      process.kill(pid, 'SIGKILL');
      await eventually(async () => (await readProcess(pid)) === undefined);
    }
    // Mount points stay: they are busy.
    for (const folder of lost)
      await promisify(execFile)('rm', ['-rf', layout[folder]]).catch(() => undefined);
    expect(await leftovers(instance, pod)).not.toEqual([]);
    await instance.purge();
    expect(await leftovers(instance, pod)).toEqual([]);
  });

  test('leaves nothing behind of pods that the runtime fails to remove, and removes the others through it', async () => {
    const instance = await startTestContainerd({ restart: false });
    onTestFinished(() => instance.purge());
    const pods = [await runPod(instance, 'stuck'), await runPod(instance, 'other')];
    const connection = connectRuntime({ endpoint: instance.endpoint, log: silentLogger });
    onTestFinished(() => connection.close());
    const { runtime } = connection;
    const { items } = await runtime.listPodSandbox({});
    const stuck = items.find(({ metadata }) => metadata?.name === 'stuck')?.id;
    const removed: string[] = [];
    const { layout } = instance.containerd;
    const networkName = instance.folder.slice('/tmp/'.length);
    const remover: SandboxRemover = {
      listPodSandbox: (request) => runtime.listPodSandbox(request),
      stopPodSandbox: (request) =>
        request.podSandboxId === stuck
          ? Promise.reject(new Error('its network namespace is gone'))
          : runtime.stopPodSandbox(request),
      async removePodSandbox(request) {
        removed.push(request.podSandboxId ?? '');
        return runtime.removePodSandbox(request);
      },
    };
    await purgeContainerd({ log: silentLogger, runtime: remover }, { layout, networkName });
    expect(removed).toEqual(items.map(({ id }) => id).filter((id) => id !== stuck));
    for (const pod of pods) expect(await leftovers(instance, pod)).toEqual([]);
  });

  test('succeeds with nothing to remove', async () => {
    const instance = await startTestContainerd();
    await instance.purge();
    const { layout } = instance.containerd;
    await expect(
      purgeContainerd({ log: silentLogger }, { layout, networkName: 'nothing' }),
    ).resolves.toBeUndefined();
  });
});
