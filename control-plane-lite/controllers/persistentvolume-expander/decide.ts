/** Decisions about a claim that requests more than its capacity. Pure. Source: upstream's expand controller
 *  and `GenerateExpandVolumeFunc`, release 1.24. */

import type { PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import type { MigratedSource } from '#api/meta/csi-migration.ts';
import { compareQuantities } from '#api/meta/quantity.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { isForClaim } from '../persistentvolume-binder/model.ts';
import { findCondition } from '../workloads-kit/conditions.ts';

/** Annotations. */
export interface ExpanderNames {
  /** On a claim: its resizer. */
  readonly resizer: string;
  /** On a volume that its node has not expanded yet: the previous size. */
  readonly sizeBefore: string;
}

export const expanderNames = ({ domain }: Pick<Vocabulary, 'domain'>): ExpanderNames => ({
  resizer: `volume.${domain}/storage-resizer`,
  sizeBefore: `volume.alpha.${domain}/pre-resize-capacity`,
});

export type ExpandAction =
  | { readonly kind: 'none' }
  /** An external resizer is responsible and reports in the claim's status. `resizer`: its name, if known. */
  | { readonly kind: 'external'; readonly size: string; readonly message: string; readonly resizer?: string }
  /** The volume is about to be expanded: by `resizer`, on the node. */
  | { readonly kind: 'begin'; readonly resizer: string }
  | { readonly kind: 'grow'; readonly size: string; readonly sizeBefore: string }
  /** Only the node's part is left. */
  | { readonly kind: 'leaveToNode' }
  | { readonly kind: 'finish' };

export interface ExpandView {
  readonly names: ExpanderNames;
  /** CSI form of an in-tree volume whose plugin is migrated. */
  readonly migrated: (volume: PersistentVolume) => Pick<MigratedSource, 'plugin' | 'driver'> | undefined;
}

const EXTERNAL =
  "Ignoring the PVC: didn't find a plugin capable of expanding the volume; waiting for an external controller to process this PVC.";

/** Of the volumes without a CSI driver, only those of flex drivers are expanded without a cluster service. */
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

/** One step; each leads to the next reconciliation.
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
  const sizeBefore = volume.metadata?.annotations?.[view.names.sizeBefore];
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
