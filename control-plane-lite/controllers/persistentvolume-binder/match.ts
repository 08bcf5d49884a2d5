/** Which volume a claim gets: one that is kept for it, or of those that will do the smallest. Pure.
 *  Source: upstream's persistent volume controller, release 1.24. */
import { compareQuantities } from '#api/meta/quantity.ts';
import { matchesLabels, selectorRequirements } from '#api/meta/selectors.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/schema/gen/core-v1.ts';
import { type BinderWords, classOf, isForClaim, nameOf } from './model.ts';

const sizeOf = ({ spec }: PersistentVolume): string => spec?.capacity?.['storage'] ?? '0';
const modesOf = ({ spec }: PersistentVolume): readonly string[] => spec?.accessModes ?? [];

const isTooSmall = (volume: PersistentVolume, { spec }: PersistentVolumeClaim): boolean =>
  compareQuantities(sizeOf(volume), spec?.resources?.requests?.['storage'] ?? '0') < 0;

/** Whether one is a disk and the other a file system. */
export const isOtherMode = ({ spec }: PersistentVolume, claim: PersistentVolumeClaim): boolean =>
  (spec?.volumeMode ?? 'Filesystem') !== (claim.spec?.volumeMode ?? 'Filesystem');

const lacksAccess = (volume: PersistentVolume, { spec }: PersistentVolumeClaim): boolean =>
  !(spec?.accessModes ?? []).every((mode) => modesOf(volume).includes(mode));

/** Why a claim can't have the very volume that it asks for; `undefined`: it can. */
export function mismatchOf(
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
  words: BinderWords,
): string | undefined {
  if (volume.metadata?.deletionTimestamp !== undefined) {
    return `the volume is marked for deletion "${nameOf(volume)}"`;
  }
  if (isTooSmall(volume, claim)) return 'requested PV is too small';
  if (classOf(volume, words) !== classOf(claim, words)) return 'storageClassName does not match';
  if (isOtherMode(volume, claim)) return 'incompatible volumeMode';
  if (lacksAccess(volume, claim)) return 'incompatible accessMode';
  return undefined;
}

/** What even a volume has to have that is kept for the claim. */
const canServe = (volume: PersistentVolume, claim: PersistentVolumeClaim): boolean =>
  volume.metadata?.deletionTimestamp === undefined &&
  !isTooSmall(volume, claim) &&
  !isOtherMode(volume, claim) &&
  !lacksAccess(volume, claim);

/** Fewer ways of access are better, for others may need the rest; then smaller. */
function isBetter(volume: PersistentVolume, best: PersistentVolume): boolean {
  const modes = modesOf(volume).length - modesOf(best).length;
  const size = modes === 0 ? compareQuantities(sizeOf(volume), sizeOf(best)) : modes;
  return size === 0 ? nameOf(volume) < nameOf(best) : size < 0;
}

/** `onlyKept`: the claim waits for its first consumer, and gets none but a volume that was chosen for it. */
export function findVolume(
  claim: PersistentVolumeClaim,
  volumes: Iterable<PersistentVolume>,
  { words, onlyKept }: { readonly words: BinderWords; readonly onlyKept: boolean },
): PersistentVolume | undefined {
  const storageClass = classOf(claim, words);
  const selector = claim.spec?.selector;
  const requirements = selector === undefined ? [] : selectorRequirements(selector);
  let best: PersistentVolume | undefined;
  for (const volume of volumes) {
    if (volume.spec?.claimRef !== undefined && !isForClaim(volume, claim)) continue;
    if (!canServe(volume, claim)) continue;
    if (volume.spec?.claimRef !== undefined) return volume;
    if (onlyKept || volume.status?.phase !== 'Available') continue;
    if (classOf(volume, words) !== storageClass) continue;
    if (!matchesLabels(requirements, volume.metadata?.labels ?? {})) continue;
    if (best === undefined || isBetter(volume, best)) best = volume;
  }
  return best;
}
