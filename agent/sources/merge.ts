/** Many sources, one desired state. Pure. The first source in SOURCE_NAMES order wins, and within a source
 *  the first in the source's own order. */
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
  /** Claims all keys for the origin, or names the conflict with the first that is taken. */
  claim(identity: string, keys: readonly string[], origin: ManifestOrigin): boolean;
  readonly conflicts: readonly SourceConflict[];
}

function createClaims(): Claims {
  const taken = new Map<string, ManifestOrigin>();
  const conflicts: SourceConflict[] = [];
  return {
    conflicts,
    claim(identity, keys, origin) {
      const held = keys.find((key) => taken.has(key));
      const winner = held === undefined ? undefined : taken.get(held);
      if (held !== undefined && winner !== undefined) {
        // A uid keys maps, directories and cgroups: two pods may not share one even if their names differ.
        const what = held === identity ? identity : `${identity} (${held})`;
        conflicts.push({ identity: what, winner, loser: origin });
        return false;
      }
      for (const key of keys) taken.set(key, origin);
      return true;
    },
  };
}

/** @param expected the sources that are configured; the state is complete when each has read its content once */
export function mergeSnapshots(
  snapshots: readonly SourceSnapshot[],
  expected: readonly SourceName[],
): DesiredState {
  const ordered = snapshots.toSorted(
    (a, b) => SOURCE_NAMES.indexOf(a.source) - SOURCE_NAMES.indexOf(b.source),
  );
  const claims = createClaims();
  const pods = ordered
    .flatMap((snapshot) => snapshot.pods)
    .filter((entry) => {
      const identity = podIdentity(entry);
      return claims.claim(identity, [identity, `uid ${entry.pod.metadata?.uid ?? identity}`], entry.origin);
    });
  const objects = ordered
    .flatMap((snapshot) => snapshot.objects)
    .filter((entry) => {
      const identity = objectIdentity(entry);
      return claims.claim(identity, [identity], entry.origin);
    });
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
