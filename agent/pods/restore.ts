/** What an earlier agent left on this root: pods with a record, and pods that only the runtime or the disk know. */
import type { Logger } from '#api/kit/logger.ts';
import type { VolumeManager } from '#volumes/types.ts';
import type { RuntimeView } from '../observe/runtime-view.ts';
import type { PodRecord, RecordStore } from './record.ts';

export interface RestorerDeps {
  readonly view: RuntimeView;
  readonly records: RecordStore;
  readonly volumes: VolumeManager;
  readonly log: Logger;
}

/** Gathers them all as records; those without one of their own can only be removed. */
export function createRestorer({
  view,
  records,
  volumes,
  log,
}: RestorerDeps): () => Promise<readonly PodRecord[]> {
  return async () => {
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

/** A pod that can be removed but not run: nothing but its names is known. */
function strayRecord(view: RuntimeView, uid: string): PodRecord {
  const sandbox = view.pod(uid).sandboxes[0];
  const metadata = { uid, namespace: sandbox?.podNamespace ?? 'unknown', name: sandbox?.podName ?? uid };
  return {
    pod: { metadata, spec: { containers: [] } },
    origin: { source: 'file', location: '', document: '' },
    startedAtMs: sandbox?.createdAtMs ?? 0,
    terminal: undefined,
  };
}
