/** Docker as the runtime of the demo: loads its images, and removes its pods. Containers of others are not touched. */

import { buildLocalImages } from '#agent/runtime/managed/images.ts';
import { PAUSE_IMAGE } from '#agent/runtime/managed/local-images.ts';
import { removeSandboxes } from '#agent/runtime/managed/purge.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { parseEndpoint } from '#cri/client/endpoint.ts';
import { instanceId } from '../node/node-facts.ts';
import { createDockerClient, type DockerClient } from '../runtime/docker/client/docker-client.ts';
import { openEngine } from '../runtime/docker/client/engine.ts';
import { connectDocker } from '../runtime/docker/connect.ts';
import { openDocker } from '../runtime/docker/open.ts';
import type { DemoLayout } from './layout.ts';

const PATIENCE_MS = 30_000;
const PULL_DEADLINE_MS = 60_000;

async function withClient<T>(endpoint: string, use: (client: DockerClient) => Promise<T>): Promise<T> {
  const client = createDockerClient(openEngine(parseEndpoint(endpoint)));
  try {
    return await use(client);
  } finally {
    client.close();
  }
}

/** Loads the images that docker lacks; returns their names. @throws DockerError when docker is not reachable */
export function loadDockerImages(endpoint: string): Promise<readonly string[]> {
  return withClient(endpoint, async (client) => {
    const loaded: string[] = [];
    for (const { name, tar } of await buildLocalImages()) {
      const tag = name.replace(/^docker\.io\//, '');
      if ((await client.image(tag)) !== undefined) continue;
      await client.loadImage(tar);
      loaded.push(tag);
    }
    return loaded;
  });
}

/** Removes the pods of the demo agent; returns their number. */
export async function removeDockerPods(
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
  layout: DemoLayout,
  endpoint: string,
): Promise<number> {
  const node = await instanceId(layout.agentRoot);
  const runtime = await openDocker(
    { clock, log, node },
    {
      dockerEndpoint: endpoint,
      podInfraContainerImage: PAUSE_IMAGE,
      imagePullProgressDeadline: PULL_DEADLINE_MS,
      networkPlugin: '',
      networkPluginMtu: 0,
      cniBinDir: '',
      cniConfDir: '',
      cniCacheDir: '',
      podCIDR: '',
      rootDir: layout.agentRoot,
    },
  );
  const { connection, ended } = connectDocker(runtime, { endpoint, log });
  try {
    await connection.whenConnected(AbortSignal.timeout(PATIENCE_MS));
    return await removeSandboxes(connection.runtime);
  } finally {
    connection.close();
    await ended;
  }
}
