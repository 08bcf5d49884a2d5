/** Manifest sets: joined, compared, and what stays of a place's last good content when its new content is
 *  faulty. Pure. */
import type { FieldError, FieldErrorKind } from '#api/meta/field-error.ts';
import { formatIdentity, objectIdentity, podIdentity } from './merge.ts';
import type { ManifestPlace, ManifestSet, RejectedManifest } from './types.ts';

export const EMPTY_SET: ManifestSet = { pods: [], objects: [], rejected: [] };

/** All of them as one, in their order. */
export function joinSets(sets: readonly ManifestSet[]): ManifestSet {
  return {
    pods: sets.flatMap((set) => set.pods),
    objects: sets.flatMap((set) => set.objects),
    rejected: sets.flatMap((set) => set.rejected),
  };
}

/** A place that could not be read at all, as a set with one rejected manifest and nothing else. */
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

/** The new content; and while any of it is rejected, also what was there before and isn't named in it now.
 *  A rejected document may have been the one that held it, and a typo must not end a running pod. */
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

/** Whether both hold the same entries, by object identity for pods and objects. */
export function isSameSet(a: ManifestSet, b: ManifestSet): boolean {
  const same = <T>(left: readonly T[], right: readonly T[]): boolean =>
    left === right || (left.length === right.length && left.every((entry, index) => entry === right[index]));
  return same(a.pods, b.pods) && same(a.objects, b.objects) && same(a.rejected, b.rejected);
}
