import { access, readdir, readFile } from 'node:fs/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '#api/kit/logger.ts';
import { CONTAINERD_CRI_NAMESPACE } from '#api/vocabulary.ts';
import { connectRuntime } from '#cri/client/connection.ts';
import { startTestContainerd, type TestContainerd } from '../../../testing/containerd.ts';
import { eventually } from '../../../testing/wait.ts';
import { bridgeName } from './network.ts';
import { isShimOf, listProcesses } from './process.ts';
import { purgeContainerd } from './purge.ts';

interface RunningPod {
  readonly containerID: string;
  readonly ip: string;
  readonly pid: number;
}

/** A pod on the pod network with one sleeping container. */
async function runPod(instance: TestContainerd): Promise<RunningPod> {
  const connection = connectRuntime({ endpoint: instance.endpoint, log: silentLogger });
  onTestFinished(() => connection.close());
  const { runtime } = connection;
  await connection.whenConnected();
  const config = {
    metadata: { name: 'p', namespace: 'n', uid: 'u', attempt: 0 },
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

  test('succeeds with nothing to remove', async () => {
    const instance = await startTestContainerd();
    await instance.purge();
    const { layout } = instance.containerd;
    await expect(
      purgeContainerd({ log: silentLogger }, { layout, networkName: 'nothing' }),
    ).resolves.toBeUndefined();
  });
});
