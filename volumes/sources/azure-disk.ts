/** azureDisk: a disk of Microsoft's cloud, found by the LUN of its attachment.
 *  Source: volume sources, document 3 §2.3. */
import { join } from 'node:path';
import type { AzureDiskVolumeSource } from '#api/gen/core-v1.ts';
import type { DevicePlugin, DeviceServices } from '../contract/devices.ts';
import type { SourcePlugin } from '../contract/source.ts';
import { defineDeviceSource } from '../devices/define-source.ts';
import { badField, checkFsType, checkName } from '../devices/fields.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';

const CACHING: readonly string[] = ['None', 'ReadOnly', 'ReadWrite'];
const KINDS: readonly string[] = ['Shared', 'Dedicated', 'Managed'];

function oneOf(field: string, value: string | undefined, allowed: readonly string[]): void {
  if (value === undefined || allowed.includes(value)) return;
  throw badField(field, value, `must be one of ${allowed.join(', ')}`);
}

function check(spec: AzureDiskVolumeSource): void {
  const { kind = 'Shared', diskURI, diskName, cachingMode } = spec;
  checkName('azureDisk.diskName', diskName, 'the name of a disk');
  oneOf('azureDisk.cachingMode', cachingMode, CACHING);
  oneOf('azureDisk.kind', kind, KINDS);
  const managed = diskURI.toLowerCase().startsWith('/subscriptions/');
  if (kind === 'Managed' && !managed) {
    throw badField(
      'azureDisk.diskURI',
      diskURI,
      'must begin with /subscriptions/ for a disk of kind Managed',
    );
  }
  if (kind !== 'Managed' && !diskURI.startsWith('https://')) {
    throw badField('azureDisk.diskURI', diskURI, `must begin with https:// for a disk of kind ${kind}`);
  }
}

const PATH = /^\/dev\/disk\/azure\/scsi\d+\/lun(\d{1,3})$/;

/** @throws VolumeSetupError if the attachment reports no LUN */
function numberOf({ attachedAs = '' }: DeviceServices, name: string): string {
  const number = /^\d{1,3}$/.exec(attachedAs)?.[0] ?? PATH.exec(attachedAs)?.[1];
  if (number !== undefined) return String(Number(number));
  const reported = attachedAs === '' ? 'nothing' : JSON.stringify(attachedAs);
  throw new VolumeSetupError(
    `azureDisk ${name}: the node finds the disk by its LUN, which must be the devicePath of its attachment in node.status.volumesAttached; it is ${reported}`,
  );
}

export const azureDiskPlugin: DevicePlugin<'azureDisk'> = {
  name: 'azureDisk',
  about: {
    summary: 'A disk of Microsoft Azure that is attached to the machine.',
    use: 'both',
    block: true,
    mountOptions: true,
    notes: [
      'The agent finds the disk by the LUN in its attachment, so the node must have joined an API server.',
      'cachingMode and kind are meant for the attacher; the node only validates them.',
    ],
  },
  dirName: 'azure-disk',
  attachedByOthers: true,

  identify(spec, domain) {
    check(spec);
    return {
      uniqueName: `${domain}/azure-disk/${spec.diskURI}`,
      fsType: checkFsType('azureDisk.fsType', spec.fsType),
      readOnly: spec.readOnly === true,
    };
  },

  async attach(spec, services, _save, signal) {
    const number = numberOf(services, spec.diskName);
    const folder = join(services.paths.dev, 'disk', 'azure');
    const links = [join(folder, 'scsi1', `lun${number}`), join(folder, 'data', 'by-lun', number)];
    return services.waitForDevice(links, signal);
  },
};

export const azureDisk: SourcePlugin = defineDeviceSource(azureDiskPlugin);
