/** Decisions of volume protection: claims and volumes that must not be removed, and the claims that a pod
 *  uses. Pure. Source: upstream's pvc-protection and pv-protection controllers, release 1.24. */
import type { Pod, Volume } from '#api/gen/core-v1.ts';

export interface Guarded {
  readonly deleting: boolean;
  /** It has the protection finalizer. */
  readonly held: boolean;
  readonly inUse: boolean;
}

/** Change of the finalizer. */
export function decideHold({ deleting, held, inUse }: Guarded): 'add' | 'remove' | undefined {
  if (!deleting) return held ? undefined : 'add';
  return held && !inUse ? 'remove' : undefined;
}

/** A claim that a pod uses. */
export interface ClaimUse {
  readonly name: string;
  /** It counts only if the pod with this uid is the claim's controller: it was created for the pod. */
  readonly createdFor?: string;
}

/** A pod that the agent has terminated for good. */
const isShutDown = ({
  deletionTimestamp,
  deletionGracePeriodSeconds,
}: NonNullable<Pod['metadata']>): boolean =>
  deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0;

/** None for an unscheduled pod: no agent starts it while its claim is terminating. */
export function claimUses({ metadata = {}, spec }: Pod): readonly ClaimUse[] {
  if ((spec?.nodeName ?? '') === '') return [];
  return (spec?.volumes ?? []).flatMap((volume: Volume): readonly ClaimUse[] => {
    const claimName = volume.persistentVolumeClaim?.claimName;
    if (claimName !== undefined) return [{ name: claimName }];
    if (volume.ephemeral === undefined || isShutDown(metadata)) return [];
    return [{ name: `${metadata.name ?? ''}-${volume.name}`, createdFor: metadata.uid ?? '' }];
  });
}
