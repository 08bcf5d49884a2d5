/** Volumes that the agent creates on its own disk for claims: `<root-dir>/local-volumes/<name>` with a record and
 *  the content in `data`. Containers see only `data`, as the root of a mount, so nothing that they do changes a
 *  path that the agent uses.
 *
 *  Every step may be interrupted: a volume is usable only when its record says so, and is renamed before its
 *  content is removed. */
import { chmod, mkdir, readdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { asError, hasCode, unlessCode } from '#api/kit/errno.ts';
import { createKeyedQueue } from '#api/kit/keyed-queue.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { LocalVolume, LocalVolumeSpec, LocalVolumes } from '../contract/local-volumes.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { holdDir } from '../files/held-dir.ts';
import { podsDir } from '../files/layout.ts';
import { removeTree } from '../files/remove-tree.ts';
import type { RecordFiles } from '../staging/record-files.ts';
import { createImage, type ImageDeps, imageBytes, mountImage, unmountImage } from './image.ts';
import { formatRecord, isVolumeName, type LocalVolumeRecord, parseRecord } from './record.ts';

export interface LocalVolumesDeps extends ImageDeps {
  readonly rootDir: string;
  readonly files: RecordFiles;
  readonly log: Logger;
}

const RECORD = 'volume.json';
const DATA = 'data';
/** Volumes have names that begin with a letter or a digit. */
const REMOVED = '.removed-';
/** Containers of any user may write, as in an empty directory of a pod. */
const DATA_MODE = 0o777;

export function createLocalVolumes(deps: LocalVolumesDeps): LocalVolumes {
  const { rootDir, files, log } = deps;
  const base = join(rootDir, 'local-volumes');
  const queue = createKeyedQueue();
  const dirOf = (name: string): string => {
    if (isVolumeName(name)) return join(base, name);
    throw new VolumeSetupError(`${JSON.stringify(name.slice(0, 64))} is not the name of a local volume`);
  };
  const dataOf = (name: string): string => join(dirOf(name), DATA);

  async function read(name: string): Promise<LocalVolumeRecord | undefined> {
    const text = await files.read(join(dirOf(name), RECORD));
    return text === undefined ? undefined : parseRecord(text, name);
  }
  const write = (record: LocalVolumeRecord): Promise<void> =>
    files.write(join(dirOf(record.name), RECORD), formatRecord(record));

  const viewOf = ({ users: _, state: __, ...spec }: LocalVolumeRecord): LocalVolume => ({
    ...spec,
    path: dataOf(spec.name),
  });

  async function createNow(spec: LocalVolumeSpec, signal: AbortSignal): Promise<LocalVolume> {
    const known = await read(spec.name);
    if (known?.state === 'ready') return viewOf(known);
    const isImage = spec.kind === 'filesystem';
    const sizeBytes = isImage ? imageBytes(spec.sizeBytes) : spec.sizeBytes;
    const record: LocalVolumeRecord = { ...spec, sizeBytes, state: 'creating', used: false, users: [] };
    const dir = dirOf(spec.name);
    const data = dataOf(spec.name);
    await mkdir(dir, { recursive: true, mode: 0o700 });
    await write(record);
    await mkdir(data, { recursive: true, mode: 0o700 });
    if (isImage) {
      await createImage(dir, sizeBytes);
      await mountImage(deps, dir, data, signal);
    }
    await chmod(data, DATA_MODE);
    const ready = { ...record, state: 'ready' } as const;
    await write(ready);
    const { name: volume, kind } = spec;
    log.info({ volume, kind, sizeBytes, ...claimFields(spec) }, 'Local volume created');
    return viewOf(ready);
  }

  const hasPod = (podUID: string): Promise<boolean> =>
    stat(join(podsDir(rootDir), podUID)).then(
      () => true,
      () => false,
    );

  async function usersOf({ users }: LocalVolumeRecord): Promise<readonly string[]> {
    const present = await Promise.all(users.map(hasPod));
    return users.filter((_, index) => present[index]);
  }

  async function prepareNow(name: string, podUID: string, signal: AbortSignal): Promise<void> {
    const record = await read(name);
    if (record?.state !== 'ready')
      throw new VolumeSetupError(`local volume ${name} does not exist on this node`);
    if (!record.users.includes(podUID) || !record.used) {
      const users = [...new Set([...(await usersOf(record)), podUID])];
      await write({ ...record, used: true, users });
    }
    if (record.kind === 'filesystem') await mountImage(deps, dirOf(name), dataOf(name), signal);
  }

  /** Renames the volume first: whatever happens later, its name is free and its content never comes back. */
  async function removeNow(name: string, signal: AbortSignal): Promise<boolean> {
    const record = await read(name);
    if (record !== undefined && (await usersOf(record)).length > 0) return false;
    await unmountImage(deps, dirOf(name), dataOf(name), signal);
    const removed = `${REMOVED}${name}`;
    await sweep(removed, signal);
    if (!(await unlessCode(['ENOENT'], () => rename(dirOf(name), join(base, removed))))) return true;
    await sweep(removed, signal);
    if (record !== undefined) log.info({ volume: name, ...claimFields(record) }, 'Local volume removed');
    return true;
  }

  async function sweep(removed: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await using held = await holdDir(base);
    await removeTree(deps.mounter.syscalls, held, removed);
  }

  /** The agent stopped before it wrote the record: nothing else is there. */
  async function removeWithoutRecord(name: string, signal: AbortSignal): Promise<void> {
    if ((await files.read(join(dirOf(name), RECORD))) === undefined) await removeNow(name, signal);
  }

  async function names(): Promise<readonly string[]> {
    try {
      return await readdir(base);
    } catch (thrown) {
      if (hasCode(thrown, 'ENOENT')) return [];
      throw thrown;
    }
  }

  async function get(name: string): Promise<LocalVolume | undefined> {
    const record = await read(name);
    return record?.state === 'ready' ? viewOf(record) : undefined;
  }

  return {
    get,
    create: (spec, signal) => queue.run(spec.name, () => createNow(spec, signal)),
    async list() {
      const found: LocalVolume[] = [];
      for (const name of (await names()).filter(isVolumeName)) {
        try {
          const record = await read(name);
          // An interrupted creation is listed too, so that it can be removed.
          if (record !== undefined) found.push(viewOf(record));
        } catch (thrown) {
          log.warn({ err: asError(thrown), volume: name }, 'Failed to read local volume');
        }
      }
      return found;
    },
    async prepare(path, podUID, signal) {
      if (!path.startsWith(`${base}/`)) return;
      const [name = '', data, ...rest] = path.slice(base.length + 1).split('/');
      if (!isVolumeName(name) || data !== DATA || rest.length > 0)
        throw new VolumeSetupError(`${path} is not the path of a local volume`);
      await queue.run(name, () => prepareNow(name, podUID, signal));
    },
    async remove(name, signal) {
      dirOf(name);
      if (!(await names()).includes(name)) return true;
      return queue.run(name, () => removeNow(name, signal));
    },
    async recover(signal) {
      try {
        for (const name of await names()) {
          if (name.startsWith(REMOVED))
            await queue.run(name.slice(REMOVED.length), () => sweep(name, signal));
          if (isVolumeName(name)) await queue.run(name, () => removeWithoutRecord(name, signal));
        }
      } catch (thrown) {
        log.warn({ err: asError(thrown) }, 'Failed to remove local volumes of an earlier run');
      }
    },
  };
}

const claimFields = ({ claim }: LocalVolumeSpec): { readonly claim: string } => ({
  claim: `${claim.namespace}/${claim.name}`,
});
