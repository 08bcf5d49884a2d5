/** Recovery of pods of an earlier run: from records, the runtime and the disk. */
import type { Logger } from '#api/kit/logger.ts';
import type { VolumeManager } from '#volumes/contract/volume-manager.ts';
import type { RuntimeView } from '../../observe/runtime-view.ts';
import type { ProbeMemory } from '../../probes/memory.ts';
import type { PodRecord, RecordStore } from '../record/record.ts';
import { orphanRecord } from './unknown-pods.ts';

export interface RestorerDeps {
  readonly view: RuntimeView;
  readonly records: RecordStore;
  readonly memory: Pick<ProbeMemory, 'load'>;
  readonly volumes: VolumeManager;
  readonly log: Logger;
}

/** Returns all of them as records; pods without a record can only be removed. */
export function createRestorer({
  view,
  records,
  memory,
  volumes,
  log,
}: RestorerDeps): () => Promise<readonly PodRecord[]> {
  return async () => {
    await memory.load();
    const known = await records.loadAll((path, err) => log.warn({ err, path }, 'Failed to read pod record'));
    const knownUIDs = new Set(known.map(({ pod }) => pod.metadata?.uid));
    const found = new Set([...view.podUIDs(), ...(await volumes.podsOnDisk())]);
    const orphans = [...found].filter((uid) => !knownUIDs.has(uid)).map((uid) => orphanRecord(view, uid));
    log.info({ recorded: known.length, orphans: orphans.length }, 'Pods of an earlier run restored');
    return [...known, ...orphans];
  };
}
