/** Cloud disks: an attacher attaches them to the machine, and the node waits for their udev names. */
import { join } from 'node:path';
import type { DeviceServices } from '../contract/devices.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';

const DEV = '/dev/';

/** Returns the device path of the attachment, if it is a path. @throws VolumeSetupError for a path
 *  elsewhere */
export function attachedPath({ paths, attachedAs }: DeviceServices): string | undefined {
  if (attachedAs === undefined || !attachedAs.startsWith('/')) return undefined;
  if (attachedAs.startsWith(DEV)) return join(paths.dev, attachedAs.slice(DEV.length));
  throw new VolumeSetupError(
    `the attachment has the device path ${JSON.stringify(attachedAs)}, not beneath ${DEV}`,
  );
}

/** Returns udev links of disks. */
export const byId = ({ dev }: DeviceServices['paths'], ...names: readonly string[]): readonly string[] =>
  names.map((name) => join(dev, 'disk', 'by-id', name));

/** Waits for an attached disk: at the device path of the attachment, or by its own names. */
export async function waitForDisk(
  services: DeviceServices,
  names: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const attachedAt = attachedPath(services);
  return services.waitForDevice([...names, ...(attachedAt === undefined ? [] : [attachedAt])], signal);
}
