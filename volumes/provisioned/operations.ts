/** Creation, use and removal of one local volume. Every step may be interrupted: a volume is usable only when its
 *  record says so, and is renamed before its content is removed. Not safe for concurrent calls on one volume. */
import { chmod, mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { unlessCode } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { LocalVolume, LocalVolumeSpec } from '../contract/local-volumes.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { holdDir } from '../files/held-dir.ts';
import { removeTree } from '../files/remove-tree.ts';
import { createImage, type ImageDeps, imageBytes, mountImage, unmountImage } from './image.ts';
import type { Places } from './places.ts';
import type { LocalVolumeRecord } from './record.ts';

export interface OperationDeps extends ImageDeps {
  readonly places: Places;
  readonly log: Logger;
}

/** Volumes have names that begin with a letter or a digit. */
export const REMOVED = '.removed-';
/** Containers of any user may write, as in an empty directory of a pod. */
const DATA_MODE = 0o777;

const claimFields = ({ claim }: LocalVolumeSpec): { readonly claim: string } => ({
  claim: `${claim.namespace}/${claim.name}`,
});

/** @throws VolumeSetupError, the system's error, the signal's reason */
export async function createVolume(
  deps: OperationDeps,
  spec: LocalVolumeSpec,
  signal: AbortSignal,
): Promise<LocalVolume> {
  const { places, log } = deps;
  const { name, kind } = spec;
  const known = await places.read(name);
  if (known?.state === 'ready') return places.viewOf(known);
  const isImage = kind === 'filesystem';
  const sizeBytes = isImage ? imageBytes(spec.sizeBytes) : spec.sizeBytes;
  const record: LocalVolumeRecord = { ...spec, sizeBytes, state: 'creating', used: false, users: [] };
  const [dir, data] = [places.dirOf(name), places.dataOf(name)];
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await places.write(record);
  await mkdir(data, { recursive: true, mode: 0o700 });
  if (isImage) {
    await createImage(dir, sizeBytes);
    await mountImage(deps, dir, data, signal);
  }
  await chmod(data, DATA_MODE);
  const ready = { ...record, state: 'ready' } as const;
  await places.write(ready);
  log.info({ volume: name, kind, sizeBytes, ...claimFields(spec) }, 'Local volume created');
  return places.viewOf(ready);
}

/** Records that the pod uses the volume, and mounts its image. @throws VolumeSetupError */
export async function prepareVolume(
  deps: OperationDeps,
  name: string,
  podUID: string,
  signal: AbortSignal,
): Promise<void> {
  const { places } = deps;
  const record = await places.read(name);
  if (record?.state !== 'ready')
    throw new VolumeSetupError(`local volume ${name} does not exist on this node`);
  if (!record.users.includes(podUID) || !record.used) {
    const users = [...new Set([...(await places.usersOf(record)), podUID])];
    await places.write({ ...record, used: true, users });
  }
  if (record.kind === 'filesystem') await mountImage(deps, places.dirOf(name), places.dataOf(name), signal);
}

/** Renames the volume first: whatever happens later, its name is free and its content never comes back.
 *  @returns false if a pod has it */
export async function removeVolume(deps: OperationDeps, name: string, signal: AbortSignal): Promise<boolean> {
  const { places, log } = deps;
  const record = await places.read(name);
  if (record !== undefined && (await places.usersOf(record)).length > 0) return false;
  await unmountImage(deps, places.dirOf(name), places.dataOf(name), signal);
  const removed = `${REMOVED}${name}`;
  await sweep(deps, removed, signal);
  const renamed = await unlessCode(['ENOENT'], () => rename(places.dirOf(name), join(places.base, removed)));
  if (!renamed) return true;
  await sweep(deps, removed, signal);
  if (record !== undefined) log.info({ volume: name, ...claimFields(record) }, 'Local volume removed');
  return true;
}

/** Removes what a removal has renamed. */
export async function sweep(
  { places, mounter }: OperationDeps,
  removed: string,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  await using held = await holdDir(places.base);
  await removeTree(mounter.syscalls, held, removed);
}
