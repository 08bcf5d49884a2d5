/** local: a directory or a block device of the node, reached through a PersistentVolume. A directory is
 *  bind-mounted into the pod's own directory, so that teardown cannot touch the original; a device is
 *  formatted and mounted like attached disks. Source: persistent volumes, document 3 §2.5; upstream's
 *  plugin, release 1.24. */
import { mkdir, open, realpath, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import type { LocalVolumeSource } from '#api/gen/core-v1.ts';
import { errorCode } from '#api/kit/errno.ts';
import type { DevicePlugin, DeviceVolume } from '../contract/devices.ts';
import {
  defineSource,
  type ReadyVolume,
  type SourceAbout,
  type SourcePlugin,
  type SourceRequest,
} from '../contract/source.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { type Held, statHeld } from '../files/held-dir.ts';
import { setOwnership } from '../files/ownership.ts';
import { O_PATH } from '../files/syscalls.ts';

async function holdLocal(path: string): Promise<Held> {
  try {
    return await open(path, O_PATH);
  } catch (thrown) {
    if (errorCode(thrown) !== 'ENOENT') throw thrown;
    throw new VolumeSetupError(`local path ${path} does not exist on this node`, { cause: thrown });
  }
}

async function bindOnce(request: SourceRequest, source: Held, dir: string): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o750 });
  const wanted = await statHeld(source);
  const found = await stat(dir);
  if (wanted.dev === found.dev && wanted.ino === found.ino) return;
  await request.services.mounter.bind(source, dir);
}

const DIR_NAME = 'local-volume';

const ABOUT: SourceAbout = {
  summary: 'A directory or block device of the node, through a PersistentVolume.',
  use: 'persistent volume',
  block: true,
  mountOptions: true,
  notes: [
    'Mount options and `fsType` apply to block devices; a directory accepts no mount options.',
    'A device that contains anything but the requested file system is rejected, never formatted.',
  ],
};

/** The device exists beforehand, and stays when the last pod is gone. */
const DEVICE: DevicePlugin<'local'> = {
  name: 'local',
  about: ABOUT,
  dirName: DIR_NAME,
  identify: (spec, domain) => deviceVolume(spec, domain, spec.path),
  attach: ({ path }) => realpath(path),
};

const deviceVolume = (spec: LocalVolumeSource, domain: string, name: string): DeviceVolume => ({
  uniqueName: `${domain}/${DIR_NAME}/${name}`,
  fsType: spec.fsType ?? '',
  readOnly: false,
});

async function setUpDevice(spec: LocalVolumeSource, request: SourceRequest): Promise<ReadyVolume> {
  const pipeline = await import('../devices/pipeline.ts');
  const name = request.persistentVolume?.metadata?.name ?? spec.path;
  const volume = deviceVolume(spec, request.services.domain, name);
  return pipeline.setUpDevice({ plugin: DEVICE, spec, volume, request });
}

function refuse(path: string, { block, mountOptions, persistentVolume }: SourceRequest): void {
  if (block) throw new VolumeSetupError(`local path ${path} is not a block device and cannot be used as one`);
  if (mountOptions.length === 0) return;
  const name = persistentVolume?.metadata?.name ?? '';
  throw new VolumeSetupError(
    `PersistentVolume ${name} has mountOptions, which directory ${path} does not support`,
  );
}

async function setUp(spec: LocalVolumeSource, request: SourceRequest): Promise<ReadyVolume> {
  if (!isAbsolute(spec.path) || spec.path.split('/').includes('..')) {
    throw new VolumeSetupError(
      `local path ${JSON.stringify(spec.path)} is not an absolute path without ".."`,
    );
  }
  await request.services.localVolumes?.prepare(spec.path, request.pod.metadata?.uid ?? '', request.signal);
  await using source = await holdLocal(spec.path);
  const stats = await statHeld(source);
  if (stats.isBlockDevice()) return setUpDevice(spec, request);
  if (!stats.isDirectory())
    throw new VolumeSetupError(`local path ${spec.path} is neither a directory nor a block device`);
  refuse(spec.path, request);
  const dir = request.dir(DIR_NAME);
  await bindOnce(request, source, dir);
  if (request.fsGroup !== undefined && !request.readOnly) {
    await setOwnership(
      request.services.mounter.syscalls,
      dir,
      { gid: request.fsGroup, readOnly: false, onRootMismatch: request.fsGroupOnRootMismatch },
      request.signal,
    );
  }
  return { hostPath: dir, readOnly: request.readOnly, seLinuxRelabel: true, changes: false };
}

export const local: SourcePlugin = defineSource('local', ABOUT, setUp);
