/** Claims of a pod's ephemeral volumes. Pure. Source: upstream's ephemeral volume controller, release
 *  1.24. */
import type { PersistentVolumeClaimTemplate, Pod } from '#api/gen/core-v1.ts';
import type { ObjectMeta } from '#api/gen/meta-v1.ts';

/** A volume whose claim is created for the pod. */
export interface EphemeralVolume {
  readonly name: string;
  readonly claimName: string;
  readonly template: PersistentVolumeClaimTemplate;
}

export const ephemeralVolumes = ({ metadata, spec }: Pod): readonly EphemeralVolume[] =>
  (spec?.volumes ?? []).flatMap(({ name, ephemeral }) => {
    const template = ephemeral?.volumeClaimTemplate;
    return template === undefined ? [] : [{ name, claimName: `${metadata?.name ?? ''}-${name}`, template }];
  });

export type EphemeralAction =
  | { readonly kind: 'create'; readonly volume: EphemeralVolume }
  /** An existing claim of that name was not created for this pod. */
  | { readonly kind: 'blocked'; readonly volume: EphemeralVolume; readonly message: string };

const isFor = ({ ownerReferences = [] }: ObjectMeta, uid: string | undefined): boolean =>
  ownerReferences.some(({ controller, uid: owner }) => controller === true && owner === uid);

/** `claimOf`: metadata of the claim of that name, if it exists. */
export function decideEphemeral(
  pod: Pod,
  claimOf: (name: string) => ObjectMeta | undefined,
): readonly EphemeralAction[] {
  const { namespace = '', name = '', uid, deletionTimestamp } = pod.metadata ?? {};
  if (deletionTimestamp !== undefined) return [];
  return ephemeralVolumes(pod).flatMap((volume): readonly EphemeralAction[] => {
    const claim = claimOf(volume.claimName);
    if (claim === undefined) return [{ kind: 'create', volume }];
    if (isFor(claim, uid)) return [];
    const message = `PVC ${namespace}/${volume.claimName} was not created for pod ${namespace}/${name} (pod is not owner)`;
    return [{ kind: 'blocked', volume, message }];
  });
}
