/** Whether a claim's volume is to grow on this node. Pure.
 *  Source: upstream's `expandVolumeDuringMount`, `checkVolumeFSResize` and node expander, release 1.24. */
import { compareQuantities } from '#api/meta/quantity.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/schema/gen/core-v1.ts';

export type ExpansionPlan =
  | { readonly kind: 'none' }
  /** It would have to grow, but may not be written. */
  | { readonly kind: 'readOnly'; readonly size: string }
  | { readonly kind: 'grow'; readonly size: string };

export interface ExpansionView {
  readonly claim: PersistentVolumeClaim;
  readonly volume: PersistentVolume;
  /** The pod has it for reading alone. */
  readonly readOnly: boolean;
}

const NONE: ExpansionPlan = { kind: 'none' };

/** A claim that does not say what it has is one that nobody keeps. */
export function decideExpansion({ claim, volume, readOnly }: ExpansionView): ExpansionPlan {
  const has = claim.status?.capacity?.['storage'];
  const size = volume.spec?.capacity?.['storage'];
  if (has === undefined || size === undefined || compareQuantities(has, size) >= 0) return NONE;
  // What can't be done is given up until somebody decides anew.
  if (claim.status?.resizeStatus === 'NodeExpansionFailed') return NONE;
  return { kind: readOnly ? 'readOnly' : 'grow', size };
}

/** Whether the claim alone gives reason to look at its volume while that is in use. */
export function mayHaveGrown({ spec, status }: PersistentVolumeClaim): boolean {
  const has = status?.capacity?.['storage'];
  if (has === undefined) return false;
  const pending = status?.conditions?.some(
    (condition) => condition.type === 'FileSystemResizePending' && condition.status === 'True',
  );
  return pending === true || compareQuantities(spec?.resources?.requests?.['storage'] ?? '0', has) > 0;
}
