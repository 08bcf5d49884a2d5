/** Tells the API server how the node's pods are, and gives back those that are to be deleted when nothing of them is
 *  left here. Of each pod only the newest status counts; a status that the server has already costs nothing.
 *  Source: document 3, section 1; upstream 1.24 status manager. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createWorkQueue } from '#api/kit/work-queue.ts';
import type { Pod, PodStatus } from '#api/schema/gen/core-v1.ts';
import type { ApiClient, Json } from '../api-client/client.ts';
import { ApiRequestError } from '../api-client/errors.ts';
import { isObject, metadataText } from '../api-client/object-fields.ts';
import type { ObjectAddress } from '../api-client/resource-path.ts';
import type { PodStore } from './pod-store.ts';
import { mergedStatus, statusPatch } from './status-patch.ts';

/** A pod that is here, and how it is. */
export interface LocalPod {
  readonly pod: Pod;
  readonly status: PodStatus;
  /** UID of the object on the server: the pod's own, or that of a static pod's mirror. */
  readonly serverUID: string;
}

export interface StatusWriterDeps {
  readonly client: Pick<ApiClient, 'patch' | 'delete'>;
  readonly store: PodStore;
  readonly clock: Clock;
  readonly log: Logger;
  /** Every pod that is here. */
  readonly local: () => readonly LocalPod[];
}

export interface StatusWriter {
  /** Looks for statuses that the server does not have. Cheap; may be called at every change. */
  look(): void;
  /** Takes note that nothing of a pod is left here. @param status the last one; undefined if it was never here */
  ended(pod: Pod, status: PodStatus | undefined): void;
  /** Works until the signal fires. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

interface Ended {
  readonly pod: Pod;
  readonly status: PodStatus | undefined;
}

/** The pod is not there any more, or another one has its name. */
const isGone = (thrown: unknown): boolean =>
  thrown instanceof ApiRequestError && (thrown.status === 404 || thrown.status === 409);

function addressOf(object: Json): ObjectAddress {
  const namespace = metadataText(object, 'namespace') ?? '';
  return { apiVersion: 'v1', resource: 'pods', namespace, name: metadataText(object, 'name') ?? '' };
}

export function createStatusWriter(deps: StatusWriterDeps): StatusWriter {
  const { client, store, clock, log } = deps;
  /** The statuses that were looked at last, by UID on the server: a look that finds the same ones is cheap. */
  let seen = new Map<string, LocalPod>();
  const ended = new Map<string, Ended>();
  const deleted = new Set<string>();

  async function tell(pod: Pod, status: PodStatus, uid: string, signal: AbortSignal): Promise<void> {
    const object = store.get(uid);
    if (object === undefined) return;
    const known = isObject(object['status']) ? object['status'] : {};
    const change = statusPatch(mergedStatus(pod, status, known), known);
    if (change === undefined) return;
    const address = { ...addressOf(object), subresource: 'status' };
    const content = { metadata: { uid }, status: change };
    store.note(await client.patch(address, { type: 'strategic', content }, signal));
    log.debug({ pod: address.name, phase: status.phase }, 'Pod status was told');
  }

  /** Gives the pod back: the server forgets it. */
  async function release(uid: string, signal: AbortSignal): Promise<void> {
    const object = store.get(uid);
    if (object === undefined || metadataText(object, 'deletionTimestamp') === undefined) return;
    await client.delete(addressOf(object), signal, { gracePeriodSeconds: 0, preconditions: { uid } });
    deleted.add(uid);
    log.info({ pod: metadataText(object, 'name'), podUID: uid }, 'Pod was given back to the API server');
  }

  async function work(uid: string, signal: AbortSignal): Promise<undefined> {
    const end = ended.get(uid);
    const local = seen.get(uid);
    try {
      if (end?.status !== undefined) await tell(end.pod, end.status, uid, signal);
      else if (end === undefined && local !== undefined) await tell(local.pod, local.status, uid, signal);
      if (end !== undefined && !deleted.has(uid)) await release(uid, signal);
    } catch (thrown) {
      if (!isGone(thrown)) throw thrown;
      log.debug({ err: thrown, podUID: uid }, 'Pod is gone from the API server');
    }
    return undefined;
  }

  const queue = createWorkQueue({
    clock,
    work,
    onError: (podUID, err) => log.debug({ err, podUID }, 'Pod status was not told, trying again'),
  });

  function look(): void {
    const last = seen;
    // Before any is added: work may begin at once, and is to find the newest.
    seen = new Map(deps.local().map((local) => [local.serverUID, local]));
    for (const [uid, { status, pod }] of seen) {
      const before = last.get(uid);
      if (before?.status !== status || before.pod !== pod) queue.add(uid);
    }
  }

  /** Forgets what was remembered of pods that the server no longer has; looks at those that it changed. */
  function onStoreChange(podUIDs: ReadonlySet<string>): void {
    for (const uid of podUIDs) {
      if (store.get(uid) === undefined) {
        ended.delete(uid);
        deleted.delete(uid);
      } else if (seen.has(uid) || ended.has(uid)) {
        queue.add(uid);
      }
    }
  }

  return {
    look,
    ended(pod, status) {
      const uid = pod.metadata?.uid ?? '';
      if (store.get(uid) === undefined || ended.has(uid)) return;
      ended.set(uid, { pod, status });
      queue.add(uid);
    },
    async run(signal) {
      const ends = [
        store.onChange(onStoreChange),
        store.onBack(() => {
          for (const uid of [...seen.keys(), ...ended.keys()]) queue.add(uid);
        }),
      ];
      look();
      await queue.run(signal);
      for (const end of ends) end();
    },
  };
}
