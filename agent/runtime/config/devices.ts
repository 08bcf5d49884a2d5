/** Block devices of a container, from volumes that are mapped on the host. Pure.
 *  Source: CRI v1 Device; upstream's permissions of block volumes, release 1.24. */
import { posix } from 'node:path';
import type { Container, EphemeralContainer } from '#api/gen/core-v1.ts';
import type { Device } from '#cri/gen/cri-v1.ts';
import type { MountedVolume } from '#volumes/contract/volume-manager.ts';

export interface DevicesInput {
  readonly container: Pick<Container | EphemeralContainer, 'name' | 'volumeDevices'>;
  readonly volumes: ReadonlyMap<string, MountedVolume>;
}

export type DevicesResult =
  | { readonly kind: 'ok'; readonly devices: readonly Device[] }
  | { readonly kind: 'error'; readonly message: string };

/** Returns all block devices of the container, or an error naming the unmapped one. */
export function containerDevices({ container, volumes }: DevicesInput): DevicesResult {
  const devices: Device[] = [];
  for (const { name, devicePath } of container.volumeDevices ?? []) {
    const volume = volumes.get(name);
    if (volume === undefined) {
      return { kind: 'error', message: `block volume ${name} of container ${container.name} is not mapped` };
    }
    devices.push({
      containerPath: posix.resolve('/', devicePath),
      hostPath: volume.hostPath,
      // Read, write and mknod.
      permissions: volume.readOnly ? 'r' : 'mrw',
    });
  }
  return { kind: 'ok', devices };
}
