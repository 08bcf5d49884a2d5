/** rbd: an image of a Ceph cluster, mapped by the kernel or, if it has no driver, by rbd-nbd.
 *  Source: volume sources, document 3 §2.3. */
import type { Buffer } from 'node:buffer';
import { join } from 'node:path';
import { attachableVolumeName } from '#api/meta/volume-names.ts';
import type { DevicePlugin, DeviceServices } from '../contract/devices.ts';
import type { SourcePlugin } from '../contract/source.ts';
import { defineDeviceSource } from '../devices/define-source.ts';
import { checkFsType } from '../devices/fields.ts';
import { readKernelFolder } from '../devices/kernel-files.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { readSecretRef } from '../objects/secret-ref.ts';
import type { ProgramResult } from '../programs/contract.ts';
import { failText, MissingProgramError } from '../programs/errors.ts';
import { type Driver, findMapped } from '../rbd/devices.ts';
import { DEFAULT_POOL, parseAccess, parseImage, type RbdImage, type RbdSpec } from '../rbd/image.ts';
import { withKeyFile } from '../rbd/key-file.ts';

export interface RbdOptions {
  /** Directory in memory for the key while a program needs it. */
  readonly keyFolder: string;
}

const QUICK_MS = 30_000;
const CLUSTER_MS = 60_000;

/** @throws VolumeSetupError if it is ambiguous which of the secret's values is the key */
function keyOf(secret: ReadonlyMap<string, Buffer>): string {
  const only = secret.size === 1 ? [...secret.values()][0] : undefined;
  const key = (secret.get('key') ?? only)?.toString('utf8').trim() ?? '';
  if (key !== '') return key;
  throw new VolumeSetupError(
    'the secret of rbd.secretRef must have the key of the Ceph user as its value "key"',
  );
}

/** Calls the work with the connection arguments of Ceph programs. */
async function withAccess<T>(
  spec: RbdSpec,
  services: DeviceServices,
  { keyFolder }: RbdOptions,
  work: (args: readonly string[]) => Promise<T>,
): Promise<T> {
  const { user, keyring } = parseAccess(spec);
  const args = ['--id', user, '-m', parseImage(spec).monitors.join(',')];
  if (spec.secretRef === undefined) return work([...args, '--keyring', keyring]);
  const key = keyOf(await readSecretRef(services.objects, services.namespace, spec.secretRef));
  return withKeyFile(keyFolder, key, (path) => work([...args, '--keyfile', path]));
}

/** Selects the kernel driver, or nbd if the kernel has none and the program exists. @throws
 *  VolumeSetupError */
async function chooseDriver({ run, paths }: DeviceServices, signal: AbortSignal): Promise<Driver> {
  const options = { signal, timeoutMs: QUICK_MS };
  if ((await readKernelFolder(join(paths.sys, 'bus', 'rbd'))).length > 0) return 'krbd';
  const kernel = await run('modprobe', ['rbd'], options);
  if (kernel.code === 0) return 'krbd';
  try {
    const nbd = await run('rbd-nbd', ['--version'], options);
    if (nbd.code === 0) return 'nbd';
  } catch (thrown) {
    if (!(thrown instanceof MissingProgramError)) throw thrown;
  }
  const both = 'neither the kernel nor rbd-nbd can map images of Ceph';
  throw new VolumeSetupError(`${both}: ${failText('modprobe', kernel)}`);
}

/** Only one node at a time may write to an image, unless the volume is read-only for all nodes.
 *  @throws VolumeSetupError if another node has it open */
function checkWatchers({ pool, image }: RbdImage, status: ProgramResult): void {
  const name = `${pool}/${image}`;
  if (status.code !== 0) throw new VolumeSetupError(`image ${name}: ${failText('rbd', status)}`);
  const watcher = /watcher=(\S+)/.exec(status.stdout)?.[1];
  if (watcher !== undefined) throw new VolumeSetupError(`image ${name} is still in use by ${watcher}`);
}

const READ_ONLY_MANY = 'ReadOnlyMany';

/** Inline volumes have no access modes, and count as writable. */
function onlyRead({ persistentVolume }: DeviceServices): boolean {
  const { accessModes = [] } = persistentVolume?.spec ?? {};
  return accessModes.length > 0 && accessModes.every((mode) => mode === READ_ONLY_MANY);
}

async function mapImage(
  image: RbdImage,
  access: readonly string[],
  services: DeviceServices,
  signal: AbortSignal,
): Promise<string> {
  const name = `${image.pool}/${image.image}`;
  const driver = await chooseDriver(services, signal);
  const options = { signal, timeoutMs: CLUSTER_MS };
  if (!onlyRead(services)) {
    checkWatchers(image, await services.run('rbd', ['status', name, ...access], options));
  }
  const program = driver === 'krbd' ? 'rbd' : 'rbd-nbd';
  const result = await services.run(program, ['map', name, ...access], options);
  if (result.code !== 0) throw new VolumeSetupError(`image ${name}: ${failText(program, result)}`);
  const mapped = await findMapped(services, image, signal);
  if (mapped !== undefined) return mapped.device;
  throw new VolumeSetupError(`image ${name} is not mapped, although ${program} reported success`);
}

/** @param options another directory in tests */
export function createRbd(options: RbdOptions): DevicePlugin<'rbd'> {
  return {
    name: 'rbd',
    about: {
      summary: 'A block device image of a Ceph cluster.',
      use: 'both',
      block: true,
      mountOptions: true,
      programs: ['rbd', 'modprobe'],
      notes: [
        'If the kernel has no rbd, rbd-nbd maps the image.',
        'An image that another client has open is not mapped, unless ReadOnlyMany is the only access mode of the PersistentVolume.',
        'secretRef takes precedence over keyring; the key is its value "key", or its only value.',
      ],
    },
    dirName: 'rbd',

    identify(spec, domain) {
      const { pool } = parseImage(spec);
      parseAccess(spec);
      const upstreamName = attachableVolumeName(domain, { rbd: spec }) ?? '';
      return {
        // Upstream's name lacks the pool. Images of one name in two pools are two volumes here.
        uniqueName: pool === DEFAULT_POOL ? upstreamName : `${upstreamName}@${pool}`,
        fsType: checkFsType('rbd.fsType', spec.fsType),
        readOnly: spec.readOnly === true,
      };
    },

    inUse: (rbd) => ({ rbd }),

    async attach(spec, services, save, signal) {
      const image = parseImage(spec);
      const { pool, image: name, monitors } = image;
      await save({ pool, image: name, monitors: monitors.join(' ') });
      const mapped = await findMapped(services, image, signal);
      const device =
        mapped?.device ??
        (await withAccess(spec, services, options, (access) => mapImage(image, access, services, signal)));
      return services.waitForDevice([device], signal);
    },

    async detach({ pool = '', image = '', monitors = '' }, services, signal) {
      if (pool === '' || image === '') return;
      const what = { pool, image, monitors: monitors === '' ? [] : monitors.split(' ') };
      const mapped = await findMapped(services, what, signal);
      if (mapped === undefined) return;
      const program = mapped.driver === 'krbd' ? 'rbd' : 'rbd-nbd';
      const result = await services.run(program, ['unmap', mapped.device], { signal, timeoutMs: CLUSTER_MS });
      const left = result.code === 0 ? undefined : await findMapped(services, what, signal);
      if (left !== undefined) throw new VolumeSetupError(`${left.device}: ${failText(program, result)}`);
    },
  };
}

export const rbd: SourcePlugin = defineDeviceSource(createRbd({ keyFolder: '/run' }));
