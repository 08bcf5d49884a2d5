/** The raw devices of a container, from volumes that are ready on the host. Pure.
 *  Spec: CRI v1 Device; upstream's permissions for volumes in block mode, release 1.24. */
import { posix } from 'node:path';
import type { Container, EphemeralContainer } from '#api/schema/gen/core-v1.ts';
import type { Device } from '#cri/gen/cri-v1.ts';
import type { MountedVolume } from '#volumes/types.ts';

export interface DevicesInput {
  readonly container: Pick<Container | EphemeralContainer, 'name' | 'volumeDevices'>;
  readonly volumes: ReadonlyMap<string, MountedVolume>;
}

export type DevicesResult =
  | { readonly kind: 'ok'; readonly devices: readonly Device[] }
  | { readonly kind: 'error'; readonly message: string };

/** Every device volume of the container, or which one isn't there. */
export function containerDevices({ container, volumes }: DevicesInput): DevicesResult {
  const devices: Device[] = [];
  for (const { name, devicePath } of container.volumeDevices ?? []) {
    const volume = volumes.get(name);
    if (volume === undefined) {
      return { kind: 'error', message: `volume ${name} of container ${container.name} is not mapped` };
    }
    devices.push({
      containerPath: posix.resolve('/', devicePath),
      hostPath: volume.hostPath,
      // Read, write, and make nodes of it.
      permissions: volume.readOnly ? 'r' : 'mrw',
    });
  }
  return { kind: 'ok', devices };
}
