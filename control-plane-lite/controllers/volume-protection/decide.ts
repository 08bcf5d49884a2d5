/** Which claims and volumes are kept from going, and which claims a pod uses. Pure.
 *  Source: upstream's pvc-protection and pv-protection controllers, release 1.24. */
import type { Pod, Volume } from '#api/schema/gen/core-v1.ts';

export interface Guarded {
  readonly deleting: boolean;
  /** It has the finalizer that keeps it. */
  readonly held: boolean;
  readonly inUse: boolean;
}

/** What is to be done with the finalizer. */
export function decideHold({ deleting, held, inUse }: Guarded): 'add' | 'remove' | undefined {
  if (!deleting) return held ? undefined : 'add';
  return held && !inUse ? 'remove' : undefined;
}

/** A claim that a pod uses. */
export interface ClaimUse {
  readonly name: string;
  /** It counts only if the pod with this uid is the claim's controller: it was made for the pod. */
  readonly madeFor?: string;
}

/** A pod that the agent has ended for good. */
const isShutDown = ({
  deletionTimestamp,
  deletionGracePeriodSeconds,
}: NonNullable<Pod['metadata']>): boolean =>
  deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0;

/** None of a pod without a node: no agent lets it start once its claim is on its way out. */
export function claimUses({ metadata = {}, spec }: Pod): readonly ClaimUse[] {
  if ((spec?.nodeName ?? '') === '') return [];
  return (spec?.volumes ?? []).flatMap((volume: Volume): readonly ClaimUse[] => {
    const claimName = volume.persistentVolumeClaim?.claimName;
    if (claimName !== undefined) return [{ name: claimName }];
    if (volume.ephemeral === undefined || isShutDown(metadata)) return [];
    return [{ name: `${metadata.name ?? ''}-${volume.name}`, madeFor: metadata.uid ?? '' }];
  });
}
