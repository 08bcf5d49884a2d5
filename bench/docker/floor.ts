/** Baseline on docker: the two containers of a pod through plain calls. */
import type { DockerClient } from '#agent/runtime/docker/client/docker-client.ts';
import type { PodFloor } from '../floor.ts';

const PAUSE = 'local/pause:1';
const BUSYBOX = 'local/busybox:1';

/** @param outDir directory in which the container records that it started */
export function createDockerFloor(client: DockerClient, outDir: string): PodFloor {
  const containers = new Map<string, string>();

  async function run(name: string): Promise<string> {
    const sandboxId = await client.create(`floor-pod-${name}`, {
      Image: PAUSE,
      HostConfig: { NetworkMode: 'host', IpcMode: 'shareable' },
    });
    await client.start(sandboxId);
    const containerId = await client.create(`floor-${name}`, {
      Image: BUSYBOX,
      Entrypoint: ['sh', '-c', `echo up >> /out/${name}; exec sleep 1000000`],
      HostConfig: {
        NetworkMode: `container:${sandboxId}`,
        IpcMode: `container:${sandboxId}`,
        Binds: [`${outDir}:/out`],
      },
    });
    await client.start(containerId);
    containers.set(sandboxId, containerId);
    return sandboxId;
  }

  return {
    ready: (name) => Promise.resolve(() => run(name)),
    async remove(sandboxId) {
      const containerId = containers.get(sandboxId);
      containers.delete(sandboxId);
      for (const id of containerId === undefined ? [sandboxId] : [containerId, sandboxId]) {
        await client.kill(id);
        await client.remove(id);
      }
    },
  };
}
