/** Reports pod status to the API server, and deletes pods there once they are gone from this node. Only the
 *  newest status of each pod is sent; an unchanged status causes no request.
 *  Source: pod status, document 3 §1; upstream 1.24 status manager. */

import type { Pod, PodStatus } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { isObject } from '#api/kit/object.ts';
import { createWorkQueue } from '#api/kit/work-queue.ts';
import type { ApiClient, Json } from '../api-client/client.ts';
import { ApiRequestError } from '../api-client/errors.ts';
import { metadataText, resourceVersionOf } from '../api-client/object-fields.ts';
import type { Pace } from '../api-client/paced-client.ts';
import type { ObjectAddress } from '../api-client/resource-path.ts';
import type { PodStore } from './pod-store.ts';
import { endOfUnseen } from './released-status.ts';
import { mergedStatus, statusPatch } from './status-patch.ts';

/** A pod on this node, and its status. */
export interface LocalPod {
  readonly pod: Pod;
  readonly status: PodStatus;
  /** UID of the object on the server: that of the pod, or of the mirror of a static pod. */
  readonly serverUID: string;
}

export interface StatusWriterDeps {
  /** Not rate limited. */
  readonly client: Pick<ApiClient, 'patch' | 'delete'>;
  /** Resolves when the rate limiter permits a request. */
  readonly pace: Pace;
  readonly store: PodStore;
  readonly clock: Clock;
  readonly log: Logger;
  /** Returns every pod on this node. */
  readonly local: () => readonly LocalPod[];
}

export interface StatusWriter {
  /** Checks for statuses that differ from the server. Cheap; may be called at every change. */
  check(): void;
  /** Records that the pod is gone from this node. @param status the last one; undefined if it never ran here */
  ended(pod: Pod, status: PodStatus | undefined): void;
  /** Runs until the signal fires. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

interface Ended {
  readonly pod: Pod;
  readonly status: PodStatus | undefined;
}

/** While a pod starts, its status changes several times within a moment, and no client depends on these
 *  states. */
const GATHER_MS = 100;

/** After this number of consecutive conflicts, a status is written whatever the pod's version is: a client that
 *  changes the pod all the time must not prevent it. */
const MOST_CONFLICTS = 5;

const isConflict = (thrown: unknown): boolean => thrown instanceof ApiRequestError && thrown.status === 409;

/** The pod was deleted, replaced by another one with its name, or changed: its watch reports which. */
const isOutdated = (thrown: unknown): boolean =>
  isConflict(thrown) || (thrown instanceof ApiRequestError && thrown.status === 404);

function addressOf(object: Json): ObjectAddress {
  const namespace = metadataText(object, 'namespace') ?? '';
  return { apiVersion: 'v1', resource: 'pods', namespace, name: metadataText(object, 'name') ?? '' };
}

/** Requests for a pod, by its UID on the server. */
interface Requests {
  /** Reports the changes of the newest status. */
  report(uid: string, signal: AbortSignal): Promise<void>;
  /** Deletes the pod on the server. Resolves with whether a deletion was requested. */
  release(uid: string, signal: AbortSignal): Promise<boolean>;
  /** The pod was deleted on the server. */
  forget(uid: string): void;
}

interface News {
  readonly object: Json;
  readonly change: Json;
  readonly phase: PodStatus['phase'];
}

/** `newest` returns the status to report, if any. */
function createRequests(
  { client, pace, store, clock, log }: StatusWriterDeps,
  newest: (uid: string) => Ended | undefined,
): Requests {
  function news(uid: string): News | undefined {
    const object = store.get(uid);
    const { pod, status: last } = newest(uid) ?? {};
    if (object === undefined || pod === undefined) return undefined;
    const known = isObject(object['status']) ? object['status'] : {};
    const status = last ?? endOfUnseen(known, clock.now());
    // A static pod may start again under the same mirror; every other terminated pod stays terminated.
    const isMirror = pod.metadata?.uid !== uid;
    const { phase: _, ...rest } = known;
    const change = statusPatch(mergedStatus(pod, status, isMirror ? rest : known, clock.now()), known);
    return change === undefined ? undefined : { object, change, phase: status.phase };
  }

  const conflicts = new Map<string, number>();

  /** Conditional, because the status was derived from this version of the pod. */
  async function write(uid: string, { object, change }: News, signal: AbortSignal): Promise<void> {
    const before = conflicts.get(uid) ?? 0;
    conflicts.delete(uid);
    const resourceVersion = before < MOST_CONFLICTS ? resourceVersionOf(object) : undefined;
    const metadata = { uid, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
    const address = { ...addressOf(object), subresource: 'status' };
    try {
      const content = { metadata, status: change };
      store.note(await client.patch(address, { type: 'strategic', content }, signal));
    } catch (thrown) {
      if (isConflict(thrown) && store.get(uid) !== undefined) conflicts.set(uid, before + 1);
      throw thrown;
    }
  }

  return {
    async report(uid, signal) {
      if (news(uid) === undefined) return;
      await pace(signal);
      // After a long wait the previous status is outdated.
      const current = news(uid);
      if (current === undefined) return;
      await write(uid, current, signal);
      log.debug({ pod: metadataText(current.object, 'name'), phase: current.phase }, 'Pod status reported');
    },
    async release(uid, signal) {
      const object = store.get(uid);
      if (object === undefined || metadataText(object, 'deletionTimestamp') === undefined) return false;
      await pace(signal);
      await client.delete(addressOf(object), signal, { gracePeriodSeconds: 0, preconditions: { uid } });
      log.info({ pod: metadataText(object, 'name'), podUID: uid }, 'Pod deleted from the API server');
      return true;
    },
    forget: (uid) => void conflicts.delete(uid),
  };
}

export function createStatusWriter(deps: StatusWriterDeps): StatusWriter {
  const { store, clock, log } = deps;
  /** Statuses of the last check, by UID on the server, which make an unchanged check cheap. */
  let seen = new Map<string, LocalPod>();
  const ended = new Map<string, Ended>();
  const deleted = new Set<string>();
  const requests = createRequests(deps, (uid) => ended.get(uid) ?? seen.get(uid));

  async function work(uid: string, signal: AbortSignal): Promise<undefined> {
    const end = ended.get(uid);
    try {
      await requests.report(uid, signal);
      if (end === undefined || deleted.has(uid)) return undefined;
      if (await requests.release(uid, signal)) deleted.add(uid);
    } catch (thrown) {
      if (!isOutdated(thrown)) throw thrown;
      log.debug({ err: thrown, podUID: uid }, 'Pod changed or deleted on the API server');
    }
    return undefined;
  }

  const queue = createWorkQueue({
    clock,
    work,
    onError: (podUID, err) => log.debug({ err, podUID }, 'Failed to report pod status; retrying'),
  });

  function check(): void {
    const last = seen;
    // Before any is added: work may start immediately, and must find the newest.
    seen = new Map(deps.local().map((local) => [local.serverUID, local]));
    for (const [uid, { status, pod }] of seen) {
      const before = last.get(uid);
      if (before?.status === status && before.pod === pod) continue;
      if (status.phase === 'Pending') queue.addAfter(uid, GATHER_MS);
      else queue.add(uid);
    }
  }

  /** Drops the state of pods that were deleted on the server; checks those that changed there. */
  function onStoreChange(podUIDs: ReadonlySet<string>): void {
    for (const uid of podUIDs) {
      if (store.get(uid) === undefined) {
        ended.delete(uid);
        deleted.delete(uid);
        requests.forget(uid);
      } else if (seen.has(uid) || ended.has(uid)) {
        queue.add(uid);
      }
    }
  }

  return {
    check,
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
      check();
      await queue.run(signal);
      for (const end of ends) end();
    },
  };
}
