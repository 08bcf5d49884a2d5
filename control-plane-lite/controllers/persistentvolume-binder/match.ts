/** Volume for a claim: a pre-bound one, or else the smallest that satisfies the claim. Pure. Source:
 *  upstream's persistent volume controller, release 1.24. */

import type { PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import { compareQuantities } from '#api/meta/quantity.ts';
import { matchesLabels, selectorRequirements } from '#api/meta/selectors.ts';
import { type BinderNames, classOf, isForClaim, nameOf } from './model.ts';

const sizeOf = ({ spec }: PersistentVolume): string => spec?.capacity?.['storage'] ?? '0';
const modesOf = ({ spec }: PersistentVolume): readonly string[] => spec?.accessModes ?? [];

const isTooSmall = (volume: PersistentVolume, { spec }: PersistentVolumeClaim): boolean =>
  compareQuantities(sizeOf(volume), spec?.resources?.requests?.['storage'] ?? '0') < 0;

/** Whether one is a disk and the other a file system. */
export const isOtherMode = ({ spec }: PersistentVolume, claim: PersistentVolumeClaim): boolean =>
  (spec?.volumeMode ?? 'Filesystem') !== (claim.spec?.volumeMode ?? 'Filesystem');

const lacksAccess = (volume: PersistentVolume, { spec }: PersistentVolumeClaim): boolean =>
  !(spec?.accessModes ?? []).every((mode) => modesOf(volume).includes(mode));

/** Reason why a claim cannot get the volume that it names; `undefined`: it can. */
export function mismatchOf(
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
  names: BinderNames,
): string | undefined {
  if (volume.metadata?.deletionTimestamp !== undefined) {
    return `the volume is marked for deletion "${nameOf(volume)}"`;
  }
  if (isTooSmall(volume, claim)) return 'requested PV is too small';
  if (classOf(volume, names) !== classOf(claim, names)) return 'storageClassName does not match';
  if (isOtherMode(volume, claim)) return 'incompatible volumeMode';
  if (lacksAccess(volume, claim)) return 'incompatible accessMode';
  return undefined;
}

/** Requirements that apply even to a pre-bound volume. */
const canServe = (volume: PersistentVolume, claim: PersistentVolumeClaim): boolean =>
  volume.metadata?.deletionTimestamp === undefined &&
  !isTooSmall(volume, claim) &&
  !isOtherMode(volume, claim) &&
  !lacksAccess(volume, claim);

/** Fewer access modes are better, because other claims may need the rest; then the smaller capacity. */
function isBetter(volume: PersistentVolume, best: PersistentVolume): boolean {
  const modes = modesOf(volume).length - modesOf(best).length;
  const size = modes === 0 ? compareQuantities(sizeOf(volume), sizeOf(best)) : modes;
  return size === 0 ? nameOf(volume) < nameOf(best) : size < 0;
}

/** `onlyKept`: the claim has delayed binding, and gets only a pre-bound volume. */
export function findVolume(
  claim: PersistentVolumeClaim,
  volumes: Iterable<PersistentVolume>,
  { names, onlyKept }: { readonly names: BinderNames; readonly onlyKept: boolean },
): PersistentVolume | undefined {
  const storageClass = classOf(claim, names);
  const selector = claim.spec?.selector;
  const requirements = selector === undefined ? [] : selectorRequirements(selector);
  let best: PersistentVolume | undefined;
  for (const volume of volumes) {
    if (volume.spec?.claimRef !== undefined && !isForClaim(volume, claim)) continue;
    if (!canServe(volume, claim)) continue;
    if (volume.spec?.claimRef !== undefined) return volume;
    if (onlyKept || volume.status?.phase !== 'Available') continue;
    if (classOf(volume, names) !== storageClass) continue;
    if (!matchesLabels(requirements, volume.metadata?.labels ?? {})) continue;
    if (best === undefined || isBetter(volume, best)) best = volume;
  }
  return best;
}
