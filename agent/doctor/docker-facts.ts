/** Queries version and settings of docker. */
import { parseEndpoint } from '#cri/client/endpoint.ts';
import { createDockerClient } from '../runtime/docker/client/docker-client.ts';
import { openEngine } from '../runtime/docker/client/engine.ts';
import type { DockerFacts } from './machine.ts';

const PATIENCE_MS = 5000;

/** @throws Error when docker does not respond in time */
export async function readDockerFacts(endpoint: string): Promise<DockerFacts> {
  const client = createDockerClient(openEngine(parseEndpoint(endpoint)));
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`no response within ${PATIENCE_MS / 1000} s`)),
    PATIENCE_MS,
  );
  try {
    const [apiVersion, info] = await Promise.race([
      Promise.all([client.apiVersion(), client.info()]),
      late.promise,
    ]);
    const { serverVersion: version, cgroupDriver, cgroupVersion, storageDriver, liveRestore } = info;
    return { version, apiVersion, cgroupDriver, cgroupVersion, storageDriver, liveRestore };
  } finally {
    clearTimeout(timer);
    client.close();
  }
}
