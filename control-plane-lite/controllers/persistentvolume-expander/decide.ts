/** What is to be done for a claim that asks for more than it has. Pure.
 *  Source: upstream's expand controller and `GenerateExpandVolumeFunc`, release 1.24. */
import type { MigratedSource } from '#api/meta/csi-migration.ts';
import { compareQuantities } from '#api/meta/quantity.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/schema/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { isForClaim } from '../persistentvolume-binder/model.ts';
import { findCondition } from '../workloads-kit/conditions.ts';

/** Annotations. */
export interface ExpanderWords {
  /** Of a claim: who makes its volume larger. */
  readonly resizer: string;
  /** Of a volume that its node has not made larger yet: what it was before. */
  readonly sizeBefore: string;
}

export const expanderWords = ({ domain }: Pick<Vocabulary, 'domain'>): ExpanderWords => ({
  resizer: `volume.${domain}/storage-resizer`,
  sizeBefore: `volume.alpha.${domain}/pre-resize-capacity`,
});

export type ExpandAction =
  | { readonly kind: 'none' }
  /** Somebody else has to do it, and says so in the claim's status. `resizer`: who, where it is known. */
  | { readonly kind: 'external'; readonly size: string; readonly message: string; readonly resizer?: string }
  /** The volume is about to grow: `resizer` does it, on the node. */
  | { readonly kind: 'begin'; readonly resizer: string }
  | { readonly kind: 'grow'; readonly size: string; readonly sizeBefore: string }
  /** All that is left is the node's. */
  | { readonly kind: 'leaveToNode' }
  | { readonly kind: 'finish' };

export interface ExpandView {
  readonly words: ExpanderWords;
  /** What a volume of an older kind is to the CSI driver that has taken its place. */
  readonly migrated: (volume: PersistentVolume) => Pick<MigratedSource, 'plugin' | 'driver'> | undefined;
}

const EXTERNAL =
  "Ignoring the PVC: didn't find a plugin capable of expanding the volume; waiting for an external controller to process this PVC.";

/** Of the volumes that no CSI driver serves, those of flex drivers alone grow without a service of the cluster. */
function decideExternal(size: string, volume: PersistentVolume, view: ExpandView): ExpandAction {
  const migrated = view.migrated(volume);
  if (migrated === undefined) return { kind: 'external', size, message: EXTERNAL };
  const message = `CSI migration enabled for ${migrated.plugin}; waiting for external resizer to expand the pvc`;
  return { kind: 'external', size, message, resizer: migrated.driver };
}

const NONE: ExpandAction = { kind: 'none' };

const storageOf = (quantities: Readonly<Record<string, string>> | undefined): string =>
  quantities?.['storage'] ?? '0';

const holds = ({ status }: PersistentVolumeClaim, type: string): boolean =>
  findCondition(status?.conditions, type)?.status === 'True';

/** One step; each leads to the next look.
 *
 *    begin (Resizing) ─▶ grow (the volume) ─▶ leaveToNode (FileSystemResizePending) ─▶ (the node) ─▶ finish */
export function decideExpansion(
  claim: PersistentVolumeClaim,
  volume: PersistentVolume | undefined,
  view: ExpandView,
): ExpandAction {
  const isBound = claim.status?.phase === 'Bound' && volume?.metadata?.name === claim.spec?.volumeName;
  if (!isBound || volume === undefined || !isForClaim(volume, claim)) return NONE;
  const size = storageOf(claim.spec?.resources?.requests);
  const sizeBefore = volume.metadata?.annotations?.[view.words.sizeBefore];
  if (compareQuantities(size, storageOf(claim.status?.capacity)) <= 0) {
    return sizeBefore === undefined ? NONE : { kind: 'finish' };
  }
  const resizer = volume.spec?.flexVolume?.driver;
  if (resizer === undefined) return decideExternal(size, volume, view);
  const isPending = holds(claim, 'FileSystemResizePending');
  const volumeSize = storageOf(volume.spec?.capacity);
  if (compareQuantities(volumeSize, size) >= 0) return isPending ? NONE : { kind: 'leaveToNode' };
  if (!holds(claim, 'Resizing')) return { kind: 'begin', resizer };
  return { kind: 'grow', size, sizeBefore: sizeBefore ?? volumeSize };
}
