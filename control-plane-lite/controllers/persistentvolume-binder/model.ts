/** Claims and volumes as the binder sees them. Pure. */
import type { ObjectReference, PersistentVolume, PersistentVolumeClaim } from '#api/schema/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';

/** Annotations. */
export interface BinderWords {
  /** Of a claim: it was bound to its volume, and never waits for one again. */
  readonly bindCompleted: string;
  /** The binding is the controller's choice, so that the controller may undo it. */
  readonly boundByController: string;
  readonly provisionedBy: string;
  readonly selectedNode: string;
  readonly storageClass: string;
  readonly provisioner: string;
  readonly betaProvisioner: string;
  /** What provisioners begin with that are none of their own. */
  readonly internalPrefix: string;
}

export const binderWords = ({ domain }: Pick<Vocabulary, 'domain'>): BinderWords => ({
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
  words: Pick<BinderWords, 'storageClass'>,
): string => metadata?.annotations?.[words.storageClass] ?? spec?.storageClassName ?? '';

export const keyOf = ({ metadata }: PersistentVolumeClaim): string =>
  `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;

export const claimKeyOf = ({ namespace = '', name = '' }: ObjectReference): string => `${namespace}/${name}`;

export const nameOf = ({ metadata }: PersistentVolume): string => metadata?.name ?? '';

/** Whether the volume is kept for this claim, or for whichever claim of its name. */
export function isForClaim({ spec }: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const reference = spec?.claimRef;
  if (reference === undefined || claimKeyOf(reference) !== keyOf(claim)) return false;
  const uid = reference.uid ?? '';
  return uid === '' || uid === claim.metadata?.uid;
}
