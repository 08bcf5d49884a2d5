/** Manifest sets: merging, comparison, and retention of the last good content of a place whose new content is
 *  invalid. Pure. */
import type { FieldError, FieldErrorKind } from '#api/meta/field-error.ts';
import { formatIdentity, objectIdentity, podIdentity } from './merge.ts';
import type { ManifestPlace, ManifestSet, RejectedManifest } from './types.ts';

export const EMPTY_SET: ManifestSet = { pods: [], objects: [], rejected: [] };

/** Merges all sets in their order. */
export function joinSets(sets: readonly ManifestSet[]): ManifestSet {
  return {
    pods: sets.flatMap((set) => set.pods),
    objects: sets.flatMap((set) => set.objects),
    rejected: sets.flatMap((set) => set.rejected),
  };
}

/** Returns a set with one rejected manifest, for a place that could not be read. */
export function rejectedPlace(
  place: ManifestPlace,
  detail: string,
  kind: FieldErrorKind = 'FieldValueInvalid',
): ManifestSet {
  const error: FieldError = { kind, field: '', detail };
  const rejected: RejectedManifest = {
    origin: { ...place, document: '' },
    identity: formatIdentity('Manifest', undefined, place.location),
    errors: [error],
  };
  return { ...EMPTY_SET, rejected: [rejected] };
}

/** Returns the new content; while any of it is rejected, also previous entries that it does not name.
 *  A rejected document may have contained them, and a typo must not stop a running pod. */
export function keepLastGood(last: ManifestSet | undefined, next: ManifestSet): ManifestSet {
  if (last === undefined || next.rejected.length === 0) return next;
  const pods = new Set(next.pods.map(podIdentity));
  const objects = new Set(next.objects.map(objectIdentity));
  return {
    pods: [...next.pods, ...last.pods.filter((entry) => !pods.has(podIdentity(entry)))],
    objects: [...next.objects, ...last.objects.filter((entry) => !objects.has(objectIdentity(entry)))],
    rejected: next.rejected,
  };
}

/** Reports whether both contain the same entries, by object identity of pods and objects. */
export function isSameSet(a: ManifestSet, b: ManifestSet): boolean {
  const same = <T>(left: readonly T[], right: readonly T[]): boolean =>
    left === right || (left.length === right.length && left.every((entry, index) => entry === right[index]));
  return same(a.pods, b.pods) && same(a.objects, b.objects) && same(a.rejected, b.rejected);
}
