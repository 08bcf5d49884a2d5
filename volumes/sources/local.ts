/** local: a directory of the node, reached through a PersistentVolume. It is bound into the pod's own folder, so
 *  that the pod's teardown can't touch the original. Spec: document 3, 2.5. */
import { mkdir, open, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import type { LocalVolumeSource } from '#api/schema/gen/core-v1.ts';
import { type Held, statHeld } from '../held-dir.ts';
import { setOwnership } from '../ownership.ts';
import { errorCode, VolumeSetupError } from '../setup-error.ts';
import { O_PATH } from '../syscalls.ts';
import { defineSource, type ReadyVolume, type SourcePlugin, type SourceRequest } from './source.ts';

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

async function setUp(spec: LocalVolumeSource, request: SourceRequest): Promise<ReadyVolume> {
  if (!isAbsolute(spec.path) || spec.path.split('/').includes('..')) {
    throw new VolumeSetupError(
      `local path ${JSON.stringify(spec.path)} is not an absolute path without ".."`,
    );
  }
  await using source = await holdLocal(spec.path);
  const stats = await statHeld(source);
  if (!stats.isDirectory()) {
    throw new VolumeSetupError(`local path ${spec.path} is not a directory; block devices can't be used yet`);
  }
  const dir = request.dir('local-volume');
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

export const local: SourcePlugin = defineSource(
  'local',
  {
    summary: 'A directory or block device of the node, through a PersistentVolume.',
    use: 'persistent volume',
  },
  setUp,
);
