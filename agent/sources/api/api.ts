/** Source `api`: pods that the API server has bound to this node. Until the server has listed them, persisted
 *  pods count: none of them is known to be unwanted, but all of them may run. */
import { isDeepStrictEqual } from 'node:util';
import type { Pod } from '#api/gen/core-v1.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Json } from '../../api-client/client.ts';
import { metadataText } from '../../api-client/object-fields.ts';
import type { PodSource, RejectedManifest, SourcePod, SourceSink } from '../types.ts';
import { isMirror, readApiPod, wantsTheSame } from './api-pod.ts';

/** Origin of API pods. */
export interface ApiPods {
  readonly isSynced: boolean;
  list(): readonly Json[];
  onChange(listener: (podUIDs: ReadonlySet<string>) => void): () => void;
}

/** Desired pods as of the last contact with the server. */
export interface SavedPods {
  load(): Promise<readonly SourcePod[]>;
  /** Persists the desired pods. Never throws. */
  save(pods: readonly SourcePod[]): void;
}

export interface ApiSourceDeps {
  readonly pods: ApiPods;
  readonly saved: SavedPods;
  /** Called with the desired pods before they are delivered; `isWhole` unless the server may have more. */
  readonly wanted: (pods: readonly Pod[], isWhole: boolean) => void;
  /** Called for a pod that cannot run here and that is being deleted on its server. */
  readonly unusable: (pod: Json) => void;
  readonly vocabulary: Vocabulary;
  readonly log: Logger;
}

interface Read {
  readonly object: Json;
  readonly pod: SourcePod | undefined;
  readonly rejected: RejectedManifest | undefined;
}

const isSame = (a: Read, b: Read | undefined): boolean => a.pod === b?.pod && a.rejected === b?.rejected;

export function createApiSource(deps: ApiSourceDeps): PodSource {
  const { pods, saved, vocabulary, log } = deps;
  let known = new Map<string, Read>();
  let byUID = new Map<string, SourcePod>();
  let delivered: readonly Read[] | undefined;

  /** Unchanged pods keep their object identity. */
  function read(object: Json): Read {
    const before = known.get(metadataText(object, 'uid') ?? '');
    if (before?.object === object) return before;
    if (before !== undefined && wantsTheSame(before.object, object)) return { ...before, object };
    const result = readApiPod(object, vocabulary);
    if (result.kind === 'rejected') {
      const { kind: _, ...rejected } = result;
      return { object, pod: undefined, rejected };
    }
    const { pod, origin } = result;
    const old = byUID.get(pod.metadata?.uid ?? '');
    const same = old !== undefined && isDeepStrictEqual(old.pod, pod);
    return { object, pod: same ? old : { pod, origin }, rejected: undefined };
  }

  function deliver(sink: SourceSink): void {
    const all = pods
      .list()
      .filter((object) => !isMirror(object, vocabulary))
      .map(read);
    known = new Map(all.map((entry) => [metadataText(entry.object, 'uid') ?? '', entry]));
    const wanted = all.flatMap(({ pod }) => pod ?? []);
    for (const { object, rejected } of all) {
      const isLeaving = metadataText(object, 'deletionTimestamp') !== undefined;
      if (rejected !== undefined && isLeaving) deps.unusable(object);
    }
    const last = delivered;
    delivered = all;
    if (last?.length === all.length && all.every((entry, index) => isSame(entry, last[index]))) return;
    const next = new Map(wanted.map((entry) => [entry.pod.metadata?.uid ?? '', entry]));
    byUID = next;
    saved.save(wanted);
    deps.wanted(
      wanted.map(({ pod }) => pod),
      true,
    );
    sink({
      source: 'api',
      pods: wanted,
      objects: [],
      rejected: all.flatMap(({ rejected }) => rejected ?? []),
    });
  }

  return {
    name: 'api',
    async run(signal, sink) {
      const early = await saved.load();
      signal.throwIfAborted();
      byUID = new Map(early.map((entry) => [entry.pod.metadata?.uid ?? '', entry]));
      if (!pods.isSynced) {
        deps.wanted(
          early.map(({ pod }) => pod),
          false,
        );
        log.info({ pods: early.length }, 'API pods restored from disk');
        sink({ source: 'api', pods: early, objects: [], rejected: [], partial: true });
      }
      let due = false;
      const update = (): void => {
        if (due || signal.aborted || !pods.isSynced) return;
        due = true;
        // Publish all changes of one read together.
        setImmediate(() => {
          due = false;
          if (!signal.aborted) deliver(sink);
        });
      };
      const unsubscribe = pods.onChange(update);
      update();
      await new Promise<void>((resolve) => {
        if (signal.aborted) return resolve();
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
      unsubscribe();
    },
  };
}
