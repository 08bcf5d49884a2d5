/** Disks of clouds: others attach them to the machine, and the node waits for the names that udev gives them. */
import { join } from 'node:path';
import { VolumeSetupError } from '../setup-error.ts';
import type { DeviceServices } from './contract.ts';

const DEV = '/dev/';

/** Where whoever attached the disk says that it is, if it is a path. @throws VolumeSetupError for a path elsewhere */
export function attachedPath({ paths, attachedAs }: DeviceServices): string | undefined {
  if (attachedAs === undefined || !attachedAs.startsWith('/')) return undefined;
  if (attachedAs.startsWith(DEV)) return join(paths.dev, attachedAs.slice(DEV.length));
  throw new VolumeSetupError(
    `the attachment has the device path ${JSON.stringify(attachedAs)}, not beneath ${DEV}`,
  );
}

/** Links by which udev names disks. */
export const byId = ({ dev }: DeviceServices['paths'], ...names: readonly string[]): readonly string[] =>
  names.map((name) => join(dev, 'disk', 'by-id', name));

/** Waits for a disk that others attach: where they say that it is, or by names that are its own. */
export async function waitForDisk(
  services: DeviceServices,
  names: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const told = attachedPath(services);
  return services.waitForDevice([...names, ...(told === undefined ? [] : [told])], signal);
}
