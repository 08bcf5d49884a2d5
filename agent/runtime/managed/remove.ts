/** Clean removal of a managed containerd: a running instance removes its pods itself, so that the network
 *  plugins undo their rules; the rest is purged. */
import { asError } from '#api/kit/errno.ts';
import { connectRuntime } from '#cri/client/connection.ts';
import { type ManagedContainerdOptions, startManagedContainerd } from './containerd.ts';
import { containerdLayout } from './layout.ts';
import { purgeContainerd } from './purge.ts';

/** Starts the instance if it does not run, as only it can remove pods properly. When it fails to start,
 *  everything is removed except the address translation rules of its pods.
 *  @throws AggregateError naming what could not be removed */
export async function removeManagedContainerd(
  options: ManagedContainerdOptions & { readonly networkName: string },
): Promise<void> {
  const { log, networkName } = options;
  const purge = { layout: containerdLayout(options), networkName };
  const endpoint = await startForRemoval(options);
  if (endpoint === undefined) return purgeContainerd({ log }, purge);
  const connection = connectRuntime({ endpoint, log });
  try {
    await connection.whenConnected();
    await purgeContainerd({ log, runtime: connection.runtime }, purge);
  } finally {
    connection.close();
  }
}

async function startForRemoval(options: ManagedContainerdOptions): Promise<string | undefined> {
  try {
    const containerd = await startManagedContainerd({ ...options, restart: false });
    containerd.release();
    return containerd.endpoint;
  } catch (thrown) {
    options.log.warn({ err: asError(thrown) }, 'Failed to start managed containerd for its removal');
    return undefined;
  }
}
