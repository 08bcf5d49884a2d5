/** Selects the manifest volume for the claim of an ephemeral volume, in place of a controller. Pure. */

import type { PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import { compareQuantities } from '#api/meta/quantity.ts';
import { matchesLabels, selectorRequirements } from '#api/meta/selectors.ts';

/** Bindings of other claims. */
export interface BoundVolumes {
  /** Names of volumes bound to claims of manifests or of other pods. */
  readonly names: ReadonlySet<string>;
}

const sizeOf = ({ spec }: PersistentVolume): string => spec?.capacity?.['storage'] ?? '0';
const nameOf = ({ metadata }: PersistentVolume): string => metadata?.name ?? '';

/** Returns why the volume does not match the claim; undefined if it does. */
function mismatchOf(
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
  bound: BoundVolumes,
): string | undefined {
  const wanted = claim.spec ?? {};
  const { claimRef, accessModes = [], storageClassName = '', volumeMode = 'Filesystem' } = volume.spec ?? {};
  const { name, namespace } = claim.metadata ?? {};
  if (claimRef !== undefined && (claimRef.name !== name || claimRef.namespace !== namespace))
    return `is reserved for claim ${claimRef.namespace}/${claimRef.name}`;
  if (bound.names.has(nameOf(volume))) return 'is bound to another claim';
  const size = wanted.resources?.requests?.['storage'] ?? '0';
  if (compareQuantities(sizeOf(volume), size) < 0) return `is smaller than ${size}`;
  if (volumeMode !== (wanted.volumeMode ?? 'Filesystem')) return `has volumeMode ${volumeMode}`;
  const missing = (wanted.accessModes ?? []).find((mode) => !accessModes.includes(mode));
  if (missing !== undefined) return `lacks the access mode ${missing}`;
  if (storageClassName !== (wanted.storageClassName ?? ''))
    return `has the storage class ${JSON.stringify(storageClassName)}`;
  const requirements = wanted.selector === undefined ? [] : selectorRequirements(wanted.selector);
  return matchesLabels(requirements, volume.metadata?.labels ?? {})
    ? undefined
    : 'does not match the selector';
}

/** Prefers a volume reserved for the claim, then the smallest, then by name. */
function compareVolumes(a: PersistentVolume, b: PersistentVolume): number {
  const reserved = Number(b.spec?.claimRef !== undefined) - Number(a.spec?.claimRef !== undefined);
  const size = reserved === 0 ? compareQuantities(sizeOf(a), sizeOf(b)) : reserved;
  return size === 0 ? Number(nameOf(a) > nameOf(b)) || -1 : size;
}

export type ClaimMatch =
  | { readonly kind: 'volume'; readonly name: string }
  /** `why`: reasons of some of the volumes. */
  | { readonly kind: 'none'; readonly why: string };

const MOST_REASONS = 5;

/** @param claim with a volume name if its template requires a certain one */
export function matchVolume(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
  bound: BoundVolumes,
): ClaimMatch {
  const { volumeName = '' } = claim.spec ?? {};
  const candidates = volumes.filter((volume) => volumeName === '' || nameOf(volume) === volumeName);
  const judged = candidates.map((volume) => ({ volume, mismatch: mismatchOf(volume, claim, bound) }));
  const [best] = judged
    .filter(({ mismatch }) => mismatch === undefined)
    .map(({ volume }) => volume)
    .toSorted(compareVolumes);
  if (best !== undefined) return { kind: 'volume', name: nameOf(best) };
  const reasons = judged
    .slice(0, MOST_REASONS)
    .map(({ volume, mismatch }) => `${nameOf(volume)} ${mismatch}`);
  const which = volumeName === '' ? 'the manifests define none' : `${volumeName} does not exist`;
  return { kind: 'none', why: reasons.length === 0 ? which : reasons.join('; ') };
}
