/** Claims and volumes reduced to the fields that the binder reads. Pure. */
import type { ObjectReference, PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';

/** Annotations. */
export interface BinderNames {
  /** On a claim: it was bound to its volume, and is never pending again. */
  readonly bindCompleted: string;
  /** The controller chose the binding and may revert it. */
  readonly boundByController: string;
  readonly provisionedBy: string;
  readonly selectedNode: string;
  readonly storageClass: string;
  readonly provisioner: string;
  readonly betaProvisioner: string;
  /** Prefix of provisioners that are not external. */
  readonly internalPrefix: string;
}

export const binderNames = ({ domain }: Pick<Vocabulary, 'domain'>): BinderNames => ({
  bindCompleted: `pv.${domain}/bind-completed`,
  boundByController: `pv.${domain}/bound-by-controller`,
  provisionedBy: `pv.${domain}/provisioned-by`,
  selectedNode: `volume.${domain}/selected-node`,
  storageClass: `volume.beta.${domain}/storage-class`,
  provisioner: `volume.${domain}/storage-provisioner`,
  betaProvisioner: `volume.beta.${domain}/storage-provisioner`,
  internalPrefix: `${domain}/`,
});

type Annotated = Pick<PersistentVolume, 'metadata'>;

export const hasAnnotation = ({ metadata }: Annotated, name: string): boolean =>
  metadata?.annotations?.[name] !== undefined;

/** The class of a claim or a volume; empty: none. */
export const classOf = (
  { metadata, spec }: Annotated & { readonly spec?: { readonly storageClassName?: string } },
  names: Pick<BinderNames, 'storageClass'>,
): string => metadata?.annotations?.[names.storageClass] ?? spec?.storageClassName ?? '';

export const keyOf = ({ metadata }: PersistentVolumeClaim): string =>
  `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;

export const claimKeyOf = ({ namespace = '', name = '' }: ObjectReference): string => `${namespace}/${name}`;

export const nameOf = ({ metadata }: PersistentVolume): string => metadata?.name ?? '';

/** Reports whether the volume is pre-bound to this claim, or to any claim of its name. */
export function isForClaim({ spec }: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const reference = spec?.claimRef;
  if (reference === undefined || claimKeyOf(reference) !== keyOf(claim)) return false;
  const uid = reference.uid ?? '';
  return uid === '' || uid === claim.metadata?.uid;
}
