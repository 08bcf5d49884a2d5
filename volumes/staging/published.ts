/** What pods have of volumes that take more than an unmount to undo, and which pods have a staged volume: read from the
 *  disk once, and kept in step with it from then on, as nobody else writes there. */
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { asError } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { podsDir, publishRecordFile, recordsDir, VOLUME_RECORDS } from '../layout.ts';
import { errorCode, VolumeSetupError } from '../setup-error.ts';
import type { PublishRecord } from './contract.ts';
import type { RecordFiles } from './record-files.ts';
import { formatRecord, isSameRecord, parsePublishRecord, VolumeRecordError } from './records.ts';

export interface PublishedDeps {
  readonly rootDir: string;
  readonly files: RecordFiles;
  readonly log: Logger;
}

export type PublishNews = Omit<PublishRecord, 'state'> & Partial<Pick<PublishRecord, 'state'>>;

export interface Published {
  /** Keeps what is known of a volume on disk, on top of what was known of it before.
   *  @throws VolumeSetupError when it is kept as something else that was not undone yet */
  keep(podUID: string, known: PublishNews): Promise<void>;
  of(podUID: string): Promise<readonly PublishRecord[]>;
  /** Forgets a pod whose records are gone from the disk. */
  forget(podUID: string): Promise<void>;
  /** Pods that have a part of the staged volume. */
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
      // Whatever the record says, its name says which volume it is of.
      if (`${record.volumeName}${SUFFIX}` !== name) throw new VolumeRecordError('is of another volume');
      written.add(record);
      return record;
    } catch (thrown) {
      log.warn({ err: asError(thrown), path }, 'Volume record could not be read');
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
      // Looked up only now: meanwhile another of the pod's volumes may have been the first.
      const records = all.get(podUID) ?? new Map<string, PublishRecord>();
      // A write that fails may still have been done.
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
  throw new VolumeSetupError(`the pod still has ${what} as this volume, which is not undone yet`);
}
