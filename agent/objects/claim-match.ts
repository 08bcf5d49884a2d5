/** Which volume of the manifests the claim of an ephemeral volume gets, where no API server binds them. Pure. */
import { compareQuantities } from '#api/meta/quantity.ts';
import { matchesLabels, selectorRequirements } from '#api/meta/selectors.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/schema/gen/core-v1.ts';

/** What other claims have. */
export interface TakenVolumes {
  /** Names of volumes that claims of the manifests, or of other pods, have. */
  readonly names: ReadonlySet<string>;
}

const sizeOf = ({ spec }: PersistentVolume): string => spec?.capacity?.['storage'] ?? '0';
const nameOf = ({ metadata }: PersistentVolume): string => metadata?.name ?? '';

/** Why the volume can't be the claim's; undefined: it can. */
function mismatchOf(
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
  taken: TakenVolumes,
): string | undefined {
  const wanted = claim.spec ?? {};
  const { claimRef, accessModes = [], storageClassName = '', volumeMode = 'Filesystem' } = volume.spec ?? {};
  const { name, namespace } = claim.metadata ?? {};
  if (claimRef !== undefined && (claimRef.name !== name || claimRef.namespace !== namespace))
    return `is kept for claim ${claimRef.namespace}/${claimRef.name}`;
  if (taken.names.has(nameOf(volume))) return 'has another claim';
  const size = wanted.resources?.requests?.['storage'] ?? '0';
  if (compareQuantities(sizeOf(volume), size) < 0) return `is smaller than ${size}`;
  if (volumeMode !== (wanted.volumeMode ?? 'Filesystem')) return `has volumeMode ${volumeMode}`;
  const missing = (wanted.accessModes ?? []).find((mode) => !accessModes.includes(mode));
  if (missing !== undefined) return `lacks the access mode ${missing}`;
  if (storageClassName !== (wanted.storageClassName ?? ''))
    return `has the storage class ${JSON.stringify(storageClassName)}`;
  const requirements = wanted.selector === undefined ? [] : selectorRequirements(wanted.selector);
  return matchesLabels(requirements, volume.metadata?.labels ?? {}) ? undefined : 'is not selected';
}

/** One that is kept for the claim before others, then the smallest, then by name. */
function compareVolumes(a: PersistentVolume, b: PersistentVolume): number {
  const kept = Number(b.spec?.claimRef !== undefined) - Number(a.spec?.claimRef !== undefined);
  const size = kept === 0 ? compareQuantities(sizeOf(a), sizeOf(b)) : kept;
  return size === 0 ? Number(nameOf(a) > nameOf(b)) || -1 : size;
}

export type ClaimMatch =
  | { readonly kind: 'volume'; readonly name: string }
  /** `why`: what is wrong with some of the volumes. */
  | { readonly kind: 'none'; readonly why: string };

const MOST_REASONS = 5;

/** @param claim with the volume's name where its template asks for a certain one */
export function matchVolume(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
  taken: TakenVolumes,
): ClaimMatch {
  const { volumeName = '' } = claim.spec ?? {};
  const candidates = volumes.filter((volume) => volumeName === '' || nameOf(volume) === volumeName);
  const judged = candidates.map((volume) => ({ volume, fault: mismatchOf(volume, claim, taken) }));
  const [best] = judged
    .filter(({ fault }) => fault === undefined)
    .map(({ volume }) => volume)
    .toSorted(compareVolumes);
  if (best !== undefined) return { kind: 'volume', name: nameOf(best) };
  const reasons = judged.slice(0, MOST_REASONS).map(({ volume, fault }) => `${nameOf(volume)} ${fault}`);
  const which = volumeName === '' ? 'the manifests have none' : `there is no ${volumeName}`;
  return { kind: 'none', why: reasons.length === 0 ? which : reasons.join('; ') };
}
