/** Merges many sources into one desired state. Pure. The first source in the order of SOURCE_NAMES wins.
 *  Within a source, the place that already defines the pod keeps it, so that a new manifest stops no running
 *  pod; among new ones, the first in the order of the source wins. */
import {
  type DesiredState,
  type ManifestOrigin,
  SOURCE_NAMES,
  type SourceConflict,
  type SourceName,
  type SourceObject,
  type SourcePod,
  type SourceSnapshot,
} from './types.ts';

/** `ConfigMap default/app`, or `PersistentVolume disk-1` without a namespace. */
export function formatIdentity(kind: string, namespace: string | undefined, name: string): string {
  return namespace === undefined || namespace === '' ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}

export function podIdentity(entry: SourcePod): string {
  const { namespace, name = '' } = entry.pod.metadata ?? {};
  return formatIdentity('Pod', namespace, name);
}

export function objectIdentity(entry: SourceObject): string {
  const { namespace, name = '' } = entry.object.metadata ?? {};
  return formatIdentity(entry.object.kind ?? 'Object', namespace, name);
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
export type Holders = ReadonlyMap<string, ManifestOrigin>;

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
