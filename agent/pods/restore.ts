/** What an earlier agent left on this root: pods with a record, and pods that only the runtime or the disk know. */
import type { Logger } from '#api/kit/logger.ts';
import type { VolumeManager } from '#volumes/types.ts';
import type { RuntimeView } from '../observe/runtime-view.ts';
import type { ProbeMemory } from '../probes/memory.ts';
import type { PodRecord, RecordStore } from './record.ts';
import { strayRecord } from './strays.ts';

export interface RestorerDeps {
  readonly view: RuntimeView;
  readonly records: RecordStore;
  readonly memory: Pick<ProbeMemory, 'load'>;
  readonly volumes: VolumeManager;
  readonly log: Logger;
}

/** Gathers them all as records; those without one of their own can only be removed. */
export function createRestorer({
  view,
  records,
  memory,
  volumes,
  log,
}: RestorerDeps): () => Promise<readonly PodRecord[]> {
  return async () => {
    await memory.load();
    const known = await records.loadAll((path, err) =>
      log.warn({ err, path }, 'Pod record could not be read'),
    );
    const knownUIDs = new Set(known.map(({ pod }) => pod.metadata?.uid));
    const found = new Set([...view.podUIDs(), ...(await volumes.podsOnDisk())]);
    const strays = [...found].filter((uid) => !knownUIDs.has(uid)).map((uid) => strayRecord(view, uid));
    log.info({ recorded: known.length, strays: strays.length }, 'Pods of an earlier run were looked up');
    return [...known, ...strays];
  };
}
