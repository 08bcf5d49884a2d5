/** Index of published volumes that need more than an unmount, and of the pods that use each staged volume.
 *  Read from disk once and then kept in sync, since this process is the only writer. */
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { asError, errorCode } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { PublishRecord } from '../contract/staging.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { podsDir, publishRecordFile, recordsDir, VOLUME_RECORDS } from '../files/layout.ts';
import type { RecordFiles } from './record-files.ts';
import { formatRecord, isSameRecord, parsePublishRecord, VolumeRecordError } from './records.ts';

export interface PublishedDeps {
  readonly rootDir: string;
  readonly files: RecordFiles;
  readonly log: Logger;
}

export type PublishNews = Omit<PublishRecord, 'state'> & Partial<Pick<PublishRecord, 'state'>>;

export interface Published {
  /** Merges a volume's state with its record on disk, and persists it.
   *  @throws VolumeSetupError when the record is of a different volume that has not been undone yet */
  keep(podUID: string, known: PublishNews): Promise<void>;
  of(podUID: string): Promise<readonly PublishRecord[]>;
  /** Removes a pod whose records have been deleted from disk. */
  forget(podUID: string): Promise<void>;
  /** Returns the pods that use the staged volume. */
  users(uniqueName: string): Promise<readonly string[]>;
}

const READ_AT_ONCE = 32;
const SUFFIX = '.json';

async function namesIn(dir: string): Promise<readonly string[]> {
  try {
    return await readdir(dir);
  } catch (thrown) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(thrown) ?? '')) return [];
    throw thrown;
  }
}

type Index = Map<string, Map<string, PublishRecord>>;

export function createPublished({ rootDir, files, log }: PublishedDeps): Published {
  let loading: Promise<Index> | undefined;
  const written = new WeakSet<PublishRecord>();

  async function load(podUID: string, name: string): Promise<PublishRecord | undefined> {
    const path = join(recordsDir(rootDir, podUID), name);
    try {
      const text = await files.read(path);
      if (text === undefined) return undefined;
      const record = parsePublishRecord(text);
      // The file name determines the volume, whatever the record contains.
      if (`${record.volumeName}${SUFFIX}` !== name) throw new VolumeRecordError('belongs to another volume');
      written.add(record);
      return record;
    } catch (thrown) {
      log.warn({ err: asError(thrown), path }, 'Failed to read volume record');
      return undefined;
    }
  }

  async function loadPod(podUID: string): Promise<ReadonlyMap<string, PublishRecord>> {
    const names = (await namesIn(join(podsDir(rootDir), podUID, VOLUME_RECORDS))).filter((name) =>
      name.endsWith(SUFFIX),
    );
    const records = await Promise.all(names.map((name) => load(podUID, name)));
    const known = records.filter((record) => record !== undefined);
    return new Map(known.map((record) => [record.volumeName, record]));
  }

  async function loadAll(): Promise<Index> {
    const loaded: Index = new Map();
    const pods = await namesIn(podsDir(rootDir));
    for (let next = 0; next < pods.length; next += READ_AT_ONCE) {
      const batch = pods.slice(next, next + READ_AT_ONCE);
      const some = await Promise.all(
        batch.map(async (podUID): Promise<readonly [string, ReadonlyMap<string, PublishRecord>]> => {
          return [podUID, await loadPod(podUID)];
        }),
      );
      for (const [podUID, records] of some) if (records.size > 0) loaded.set(podUID, new Map(records));
    }
    return loaded;
  }

  async function index(): Promise<Index> {
    loading ??= loadAll();
    try {
      return await loading;
    } catch (thrown) {
      loading = undefined;
      throw thrown;
    }
  }

  return {
    async keep(podUID, known) {
      const all = await index();
      const before = all.get(podUID)?.get(known.volumeName);
      const next = merge(before, known);
      if (before !== undefined && written.has(before) && isSameRecord(before, next)) return;
      await mkdir(recordsDir(rootDir, podUID), { recursive: true, mode: 0o700 });
      // Read only now: another of the pod's volumes may have been the first in the meantime.
      const records = all.get(podUID) ?? new Map<string, PublishRecord>();
      // A failed write may still have reached the disk.
      all.set(podUID, records.set(known.volumeName, next));
      await files.write(publishRecordFile(rootDir, podUID, known.volumeName), formatRecord(next));
      written.add(next);
    },
    async of(podUID) {
      return [...((await index()).get(podUID)?.values() ?? [])];
    },
    async forget(podUID) {
      (await index()).delete(podUID);
    },
    async users(uniqueName) {
      const all = [...(await index())];
      return all
        .filter(([, records]) => [...records.values()].some((record) => record.uniqueName === uniqueName))
        .map(([podUID]) => podUID);
    },
  };
}

/** @throws VolumeSetupError */
function merge(before: PublishRecord | undefined, next: PublishNews): PublishRecord {
  if (before === undefined) return { state: {}, ...next };
  const uniqueName = next.uniqueName ?? before.uniqueName;
  if (before.source === next.source && (before.uniqueName ?? uniqueName) === uniqueName)
    return { ...before, ...next };
  const what = before.uniqueName ?? before.source;
  throw new VolumeSetupError(`the pod still has ${what} set up as this volume`);
}
