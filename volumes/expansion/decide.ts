/** Decides whether a claim's volume must be expanded on this node. Pure.
 *  Source: upstream's `expandVolumeDuringMount`, `checkVolumeFSResize` and node expander, release 1.24. */

import type { PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import { compareQuantities } from '#api/meta/quantity.ts';

export type ExpansionPlan =
  | { readonly kind: 'none' }
  /** Expansion is required, but the volume is read-only. */
  | { readonly kind: 'readOnly'; readonly size: string }
  | { readonly kind: 'grow'; readonly size: string };

export interface ExpansionView {
  readonly claim: PersistentVolumeClaim;
  readonly volume: PersistentVolume;
  /** The pod uses it read-only. */
  readonly readOnly: boolean;
}

const NONE: ExpansionPlan = { kind: 'none' };

/** A claim without a capacity in its status has no controller that maintains it. */
export function decideExpansion({ claim, volume, readOnly }: ExpansionView): ExpansionPlan {
  const has = claim.status?.capacity?.['storage'];
  const size = volume.spec?.capacity?.['storage'];
  if (has === undefined || size === undefined || compareQuantities(has, size) >= 0) return NONE;
  // A failed expansion is not retried until the resize status changes.
  if (claim.status?.resizeStatus === 'NodeExpansionFailed') return NONE;
  return { kind: readOnly ? 'readOnly' : 'grow', size };
}

/** Reports whether the claim alone is a reason to check its volume while that is in use. */
export function mayHaveGrown({ spec, status }: PersistentVolumeClaim): boolean {
  const has = status?.capacity?.['storage'];
  if (has === undefined) return false;
  const pending = status?.conditions?.some(
    (condition) => condition.type === 'FileSystemResizePending' && condition.status === 'True',
  );
  return pending === true || compareQuantities(spec?.resources?.requests?.['storage'] ?? '0', has) > 0;
}
