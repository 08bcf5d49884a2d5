/** Runs the sources and merges their content into one desired state. Decides nothing about pods.
 *
 *  The first source in the order of SOURCE_NAMES wins. Within a source, the place that already defines the pod
 *  retains it, so that a new manifest stops no running pod; among new ones, the first in the order of the source
 *  wins. */
import { createBackoff } from '#api/kit/backoff.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { createListeners } from '#api/kit/listeners.ts';
import type { Logger } from '#api/kit/logger.ts';
import { objectIdentity, podIdentity } from './manifest-set.ts';
import {
  type DesiredState,
  type ManifestOrigin,
  type PodSource,
  SOURCE_NAMES,
  type SourceConflict,
  type SourceName,
  type SourcePod,
  type SourceSnapshot,
} from './types.ts';

export interface SourceManagerDeps {
  readonly sources: readonly PodSource[];
  readonly clock: Clock;
  readonly log: Logger;
}

export type DesiredListener = (state: DesiredState) => void;

export interface SourceManager {
  /** Runs every source until `signal` fires. Restarts a failed source with backoff. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
  current(): DesiredState;
  /** Adopts pods of an earlier agent, which keep precedence. Call before the state is used. */
  restored(pods: readonly SourcePod[]): void;
  /** Calls the listener, synchronously, after each change. @returns a function that ends the subscription */
  onChange(listener: DesiredListener): () => void;
}

const RESTART_BACKOFF = { initialMs: 1000, maxMs: 60_000, jitter: 0.1 };

export function createSourceManager(deps: SourceManagerDeps): SourceManager {
  const { sources, clock, log } = deps;
  const expected = sources.map((source) => source.name);
  const snapshots = new Map<SourceName, SourceSnapshot>();
  const listeners = createListeners<Parameters<DesiredListener>>('desired pods');
  const backoff = createBackoff(RESTART_BACKOFF);
  let state = mergeSnapshots([], expected);

  function merge(holders: Holders): void {
    state = mergeSnapshots([...snapshots.values()], expected, holders);
  }

  function receive(snapshot: SourceSnapshot): void {
    snapshots.set(snapshot.source, snapshot);
    merge(holdersOf(state));
    listeners.notify(state);
  }

  async function runSource(source: PodSource, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await source.run(signal, receive);
        if (signal.aborted) return;
        throw new Error(`source ${source.name} ended unexpectedly`);
      } catch (thrown) {
        if (signal.aborted) return;
        const delayMs = backoff.fail(source.name, clock.now());
        log.error({ err: asError(thrown), source: source.name, delayMs }, 'Pod source failed; restarting');
        // This rejects only for the abort, which the loop condition detects.
        await sleep(clock, delayMs, signal).catch(() => undefined);
      }
    }
  }

  return {
    async run(signal) {
      await Promise.all(sources.map((source) => runSource(source, signal)));
    },
    current: () => state,
    restored(pods) {
      merge(holdersOf({ pods, objects: state.objects }));
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

interface Claims {
  /** Claims all keys for the origin, or returns the conflict with the first claimed one. */
  claim(identity: string, keys: readonly string[], origin: ManifestOrigin): boolean;
  readonly conflicts: readonly SourceConflict[];
}

function createClaims(): Claims {
  const claimed = new Map<string, ManifestOrigin>();
  const conflicts: SourceConflict[] = [];
  return {
    conflicts,
    claim(identity, keys, origin) {
      const held = keys.find((key) => claimed.has(key));
      const winner = held === undefined ? undefined : claimed.get(held);
      if (held !== undefined && winner !== undefined) {
        // A uid keys maps, directories and cgroups: two pods may not share one even if their names differ.
        const what = held === identity ? identity : `${identity} (${held})`;
        conflicts.push({ identity: what, winner, loser: origin });
        return false;
      }
      for (const key of keys) claimed.set(key, origin);
      return true;
    },
  };
}

/** Previous origins of pods and objects, by identity. */
type Holders = ReadonlyMap<string, ManifestOrigin>;

export function holdersOf({ pods, objects }: Pick<DesiredState, 'pods' | 'objects'>): Holders {
  return new Map([
    ...pods.map((entry) => [podIdentity(entry), entry.origin] as const),
    ...objects.map((entry) => [objectIdentity(entry), entry.origin] as const),
  ]);
}

/** Returns the entries whose claim succeeds, in their own order. Entries of a source that already own their
 *  name claim first. */
function claiming<T extends { readonly origin: ManifestOrigin }>(
  entries: readonly T[],
  holders: Holders,
  identityOf: (entry: T) => string,
  claim: (entry: T, identity: string) => boolean,
): readonly T[] {
  const holds = (entry: T): boolean => {
    const { source, location } = holders.get(identityOf(entry)) ?? {};
    return entry.origin.source === source && entry.origin.location === location;
  };
  const rank = (entry: T): number => SOURCE_NAMES.indexOf(entry.origin.source) * 2 + (holds(entry) ? 0 : 1);
  const accepted = new Set(
    entries.toSorted((a, b) => rank(a) - rank(b)).filter((entry) => claim(entry, identityOf(entry))),
  );
  return entries.filter((entry) => accepted.has(entry));
}

/** @param expected the configured sources; the state is complete when each has read its content once
 *  @param holders owners of names in the previous state */
export function mergeSnapshots(
  snapshots: readonly SourceSnapshot[],
  expected: readonly SourceName[],
  holders: Holders = new Map(),
): DesiredState {
  const ordered = snapshots.toSorted(
    (a, b) => SOURCE_NAMES.indexOf(a.source) - SOURCE_NAMES.indexOf(b.source),
  );
  const claims = createClaims();
  const pods = claiming(
    ordered.flatMap((snapshot) => snapshot.pods),
    holders,
    podIdentity,
    ({ pod, origin }, identity) =>
      claims.claim(identity, [identity, `uid ${pod.metadata?.uid ?? identity}`], origin),
  );
  const objects = claiming(
    ordered.flatMap((snapshot) => snapshot.objects),
    holders,
    objectIdentity,
    ({ origin }, identity) => claims.claim(identity, [identity], origin),
  );
  const unread = expected.filter(
    (name) => !ordered.some((snapshot) => snapshot.source === name && snapshot.partial !== true),
  );
  return {
    pods,
    objects,
    rejected: ordered.flatMap((snapshot) => snapshot.rejected),
    conflicts: claims.conflicts,
    complete: unread.length === 0,
    unread,
  };
}
