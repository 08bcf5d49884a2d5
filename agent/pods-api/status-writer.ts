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
import type { Pace } from '../api-client/paced-client.ts';
import type { ObjectAddress } from '../api-client/resource-path.ts';
import type { PodStore } from './pod-store.ts';
import { endOfUnseen } from './released-status.ts';
import { mergedStatus, statusPatch } from './status-patch.ts';

/** A pod that is here, and how it is. */
export interface LocalPod {
  readonly pod: Pod;
  readonly status: PodStatus;
  /** UID of the object on the server: the pod's own, or that of a static pod's mirror. */
  readonly serverUID: string;
}

export interface StatusWriterDeps {
  /** Not paced. */
  readonly client: Pick<ApiClient, 'patch' | 'delete'>;
  /** Resolves when a request may be sent. */
  readonly pace: Pace;
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

/** While a pod starts, its status changes several times within a moment, and nobody acts on it before it runs. */
const GATHER_MS = 100;

/** The pod is not there any more, or another one has its name. */
const isGone = (thrown: unknown): boolean =>
  thrown instanceof ApiRequestError && (thrown.status === 404 || thrown.status === 409);

function addressOf(object: Json): ObjectAddress {
  const namespace = metadataText(object, 'namespace') ?? '';
  return { apiVersion: 'v1', resource: 'pods', namespace, name: metadataText(object, 'name') ?? '' };
}

/** Requests about a pod, by its UID on the server. */
interface Requests {
  /** Tells what the server does not have of the newest status. */
  tell(uid: string, signal: AbortSignal): Promise<void>;
  /** Gives the pod back: the server forgets it. Resolves with whether it was asked to. */
  release(uid: string, signal: AbortSignal): Promise<boolean>;
}

/** `newest` is what is to be told of a pod, if anything is. */
function createRequests(
  { client, pace, store, clock, log }: StatusWriterDeps,
  newest: (uid: string) => Ended | undefined,
): Requests {
  function news(uid: string) {
    const object = store.get(uid);
    const { pod, status: last } = newest(uid) ?? {};
    if (object === undefined || pod === undefined) return undefined;
    const known = isObject(object['status']) ? object['status'] : {};
    const status = last ?? endOfUnseen(known, clock.now());
    // A static pod may begin again under the same mirror; every other pod that has ended stays so.
    const isMirror = pod.metadata?.uid !== uid;
    const { phase: _, ...rest } = known;
    const change = statusPatch(mergedStatus(pod, status, isMirror ? rest : known), known);
    return change === undefined ? undefined : { object, change, phase: status.phase };
  }

  return {
    async tell(uid, signal) {
      if (news(uid) === undefined) return;
      await pace(signal);
      // It may have waited long; what was to be told then is old by now.
      const current = news(uid);
      if (current === undefined) return;
      const { object, change, phase } = current;
      const address = { ...addressOf(object), subresource: 'status' };
      const content = { metadata: { uid }, status: change };
      store.note(await client.patch(address, { type: 'strategic', content }, signal));
      log.debug({ pod: address.name, phase }, 'Pod status was told');
    },
    async release(uid, signal) {
      const object = store.get(uid);
      if (object === undefined || metadataText(object, 'deletionTimestamp') === undefined) return false;
      await pace(signal);
      await client.delete(addressOf(object), signal, { gracePeriodSeconds: 0, preconditions: { uid } });
      log.info({ pod: metadataText(object, 'name'), podUID: uid }, 'Pod was given back to the API server');
      return true;
    },
  };
}

export function createStatusWriter(deps: StatusWriterDeps): StatusWriter {
  const { store, clock, log } = deps;
  /** The statuses that were looked at last, by UID on the server: a look that finds the same ones is cheap. */
  let seen = new Map<string, LocalPod>();
  const ended = new Map<string, Ended>();
  const deleted = new Set<string>();
  const requests = createRequests(deps, (uid) => ended.get(uid) ?? seen.get(uid));

  async function work(uid: string, signal: AbortSignal): Promise<undefined> {
    const end = ended.get(uid);
    try {
      await requests.tell(uid, signal);
      if (end === undefined || deleted.has(uid)) return undefined;
      if (await requests.release(uid, signal)) deleted.add(uid);
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
      if (before?.status === status && before.pod === pod) continue;
      if (status.phase === 'Pending') queue.addAfter(uid, GATHER_MS);
      else queue.add(uid);
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
