/** Paths and records of local volumes. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '#api/kit/errno.ts';
import type { LocalVolume } from '../contract/local-volumes.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { podsDir } from '../files/layout.ts';
import type { RecordFiles } from '../staging/record-files.ts';
import { formatRecord, isVolumeName, type LocalVolumeRecord, parseRecord } from './record.ts';

const RECORD = 'volume.json';
const DATA = 'data';

export interface Places {
  /** Directory of all volumes. */
  readonly base: string;
  /** @throws VolumeSetupError for anything but the name of a volume */
  dirOf(name: string): string;
  /** Directory that pods get. @throws VolumeSetupError */
  dataOf(name: string): string;
  /** Returns the name of the volume whose content is at the path; undefined for paths elsewhere.
   *  @throws VolumeSetupError for other paths beneath the directory of volumes */
  nameOf(path: string): string | undefined;
  hasRecord(name: string): Promise<boolean>;
  read(name: string): Promise<LocalVolumeRecord | undefined>;
  write(record: LocalVolumeRecord): Promise<void>;
  /** Returns the UIDs of users whose directory still exists. */
  usersOf(record: LocalVolumeRecord): Promise<readonly string[]>;
  /** Returns the names of all entries. */
  entries(): Promise<readonly string[]>;
  viewOf(record: LocalVolumeRecord): LocalVolume;
}

export function createPlaces(rootDir: string, files: RecordFiles): Places {
  const base = join(rootDir, 'local-volumes');
  const dirOf = (name: string): string => {
    if (isVolumeName(name)) return join(base, name);
    throw new VolumeSetupError(`${JSON.stringify(name.slice(0, 64))} is not the name of a local volume`);
  };
  const dataOf = (name: string): string => join(dirOf(name), DATA);
  const textOf = (name: string): Promise<string | undefined> => files.read(join(dirOf(name), RECORD));
  const hasPod = (podUID: string): Promise<boolean> =>
    stat(join(podsDir(rootDir), podUID)).then(
      () => true,
      () => false,
    );
  return {
    base,
    dirOf,
    dataOf,
    nameOf(path) {
      if (!path.startsWith(`${base}/`)) return undefined;
      const [name = '', data, ...rest] = path.slice(base.length + 1).split('/');
      if (isVolumeName(name) && data === DATA && rest.length === 0) return name;
      throw new VolumeSetupError(`${path} is not the path of a local volume`);
    },
    hasRecord: async (name) => (await textOf(name)) !== undefined,
    async read(name) {
      const text = await textOf(name);
      return text === undefined ? undefined : parseRecord(text, name);
    },
    write: (record) => files.write(join(dirOf(record.name), RECORD), formatRecord(record)),
    async usersOf({ users }) {
      const present = await Promise.all(users.map(hasPod));
      return users.filter((_, index) => present[index]);
    },
    async entries() {
      try {
        return await readdir(base);
      } catch (thrown) {
        if (hasCode(thrown, 'ENOENT')) return [];
        throw thrown;
      }
    },
    viewOf({ name, kind, owner, sizeBytes, reclaimPolicy, claim, used }) {
      return { name, kind, owner, sizeBytes, reclaimPolicy, claim, used, path: dataOf(name) };
    },
  };
}
