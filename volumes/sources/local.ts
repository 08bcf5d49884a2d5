/** local: a directory or a block device of the node, reached through a PersistentVolume. A directory is bound into the
 *  pod's own folder, so that the pod's teardown can't touch the original; a device is formatted and mounted as those
 *  are that come from elsewhere. Spec: document 3, 2.5; upstream's plugin, release 1.24. */
import { mkdir, open, realpath, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import type { LocalVolumeSource } from '#api/schema/gen/core-v1.ts';
import type { DevicePlugin, DeviceVolume } from '../devices/contract.ts';
import { type Held, statHeld } from '../held-dir.ts';
import { setOwnership } from '../ownership.ts';
import { errorCode, VolumeSetupError } from '../setup-error.ts';
import { O_PATH } from '../syscalls.ts';
import {
  defineSource,
  type ReadyVolume,
  type SourceAbout,
  type SourcePlugin,
  type SourceRequest,
} from './source.ts';

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
    'Mount options and `fsType` are for block devices; a directory takes no mount options.',
    'A device with anything on it but the file system asked for is refused, never formatted.',
  ],
};

/** The device is there already, and stays when the last pod has gone. */
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
  if (block) throw new VolumeSetupError(`local path ${path} is no block device, and can't be used as one`);
  if (mountOptions.length === 0) return;
  const name = persistentVolume?.metadata?.name ?? '';
  throw new VolumeSetupError(
    `PersistentVolume ${name} has mountOptions, which the directory ${path} doesn't take`,
  );
}

async function setUp(spec: LocalVolumeSource, request: SourceRequest): Promise<ReadyVolume> {
  if (!isAbsolute(spec.path) || spec.path.split('/').includes('..')) {
    throw new VolumeSetupError(
      `local path ${JSON.stringify(spec.path)} is not an absolute path without ".."`,
    );
  }
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
