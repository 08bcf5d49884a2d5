/** Decisions of the provisioner of volumes on the disks of nodes. Pure. */
import type { Node, PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import type { StorageClass } from '#api/gen/storage-v1.ts';
import { value } from '#api/meta/quantity.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { type BinderNames, binderNames, classOf } from '../persistentvolume-binder/model.ts';

export interface ProvisionerNames extends BinderNames {
  /** Prefix of the provisioners, before the kind of volume. */
  readonly prefix: string;
  readonly hostname: string;
}

export const provisionerNames = ({
  domain,
  labelHostname,
}: Pick<Vocabulary, 'domain' | 'labelHostname'>): ProvisionerNames => ({
  ...binderNames({ domain }),
  prefix: `local.${domain}/`,
  hostname: labelHostname,
});

const KINDS = ['directory', 'filesystem'] as const;
export type LocalKind = (typeof KINDS)[number];

/** Returns the kind of volume of a provisioner's name; undefined for other provisioners. */
export const kindOf = (provisioner: string | undefined, names: ProvisionerNames): LocalKind | undefined =>
  KINDS.find((kind) => provisioner === `${names.prefix}${kind}`);

/** The node creates this volume. */
export interface VolumeRequest {
  readonly kind: LocalKind;
  readonly sizeBytes: number;
  readonly reclaimPolicy: 'Delete' | 'Retain';
  readonly claim: { readonly namespace: string; readonly name: string };
}

export type ProvisionAction =
  | { readonly kind: 'none' }
  /** Never succeeds while claim and class are as they are. */
  | { readonly kind: 'reject'; readonly message: string }
  /** The scheduler has to select another node. */
  | { readonly kind: 'reschedule'; readonly message: string }
  | {
      readonly kind: 'provision';
      readonly node: string;
      readonly volumeName: string;
      readonly request: VolumeRequest;
    };

export interface ProvisionView {
  readonly names: ProvisionerNames;
  readonly storageClass: (name: string) => StorageClass | undefined;
  readonly volume: (name: string) => PersistentVolume | undefined;
  readonly node: (name: string) => Node | undefined;
}

export const volumeNameOf = ({ metadata }: PersistentVolumeClaim): string => `pvc-${metadata?.uid ?? ''}`;

function rejection(claim: PersistentVolumeClaim, storageClass: StorageClass): string | undefined {
  const { volumeMode = 'Filesystem', selector, dataSource } = claim.spec ?? {};
  if (storageClass.volumeBindingMode !== 'WaitForFirstConsumer')
    return `storage class "${storageClass.metadata?.name}" needs volumeBindingMode WaitForFirstConsumer`;
  if (volumeMode !== 'Filesystem') return `volumeMode ${volumeMode} is not supported by local volumes`;
  if (selector !== undefined) return 'spec.selector is not supported by local volumes';
  if (dataSource !== undefined) return 'spec.dataSource is not supported by local volumes';
  if ((storageClass.mountOptions ?? []).length > 0)
    return `mountOptions of storage class "${storageClass.metadata?.name}" are not supported by local volumes`;
  return undefined;
}

export function decideProvision(claim: PersistentVolumeClaim, view: ProvisionView): ProvisionAction {
  const { names } = view;
  const { namespace = '', name = '', annotations = {}, deletionTimestamp } = claim.metadata ?? {};
  const kind = kindOf(annotations[names.provisioner] ?? annotations[names.betaProvisioner], names);
  if (kind === undefined || (claim.spec?.volumeName ?? '') !== '' || deletionTimestamp !== undefined)
    return { kind: 'none' };
  const storageClass = view.storageClass(classOf(claim, names));
  if (storageClass === undefined || kindOf(storageClass.provisioner, names) !== kind) return { kind: 'none' };
  const message = rejection(claim, storageClass);
  if (message !== undefined) return { kind: 'reject', message };
  const node = annotations[names.selectedNode] ?? '';
  const volumeName = volumeNameOf(claim);
  if (node === '' || view.volume(volumeName) !== undefined) return { kind: 'none' };
  const found = view.node(node);
  if (found === undefined) return { kind: 'reschedule', message: `node ${node} does not exist` };
  if (hostnameOf(found, names) === undefined)
    return { kind: 'reject', message: `node ${node} has no label ${names.hostname}` };
  return {
    kind: 'provision',
    node,
    volumeName,
    request: {
      kind,
      sizeBytes: Math.ceil(value(claim.spec?.resources?.requests?.['storage'] ?? '0')),
      reclaimPolicy: storageClass.reclaimPolicy === 'Retain' ? 'Retain' : 'Delete',
      claim: { namespace, name },
    },
  };
}

export const hostnameOf = ({ metadata }: Node, { hostname }: ProvisionerNames): string | undefined =>
  metadata?.labels?.[hostname];

/** Returns the hostname label of the node that has the volume. */
export function hostnameOfVolume(
  { spec }: PersistentVolume,
  { hostname }: ProvisionerNames,
): string | undefined {
  const [term] = spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  return term?.matchExpressions?.find(({ key }) => key === hostname)?.values?.[0];
}

/** Reports whether the node is to remove the volume: it was provisioned here, its claim is gone, and its policy
 *  says so. */
export function isToDelete({ metadata, spec, status }: PersistentVolume, names: ProvisionerNames): boolean {
  return (
    kindOf(metadata?.annotations?.[names.provisionedBy], names) !== undefined &&
    metadata?.deletionTimestamp === undefined &&
    spec?.persistentVolumeReclaimPolicy === 'Delete' &&
    status?.phase === 'Released'
  );
}

/** A volume as the node reports it. */
export interface NodeVolume {
  readonly name: string;
  readonly used: boolean;
}

/** Returns volumes of the node that were never used and belong to nothing: the server stopped between their
 *  creation and that of their PersistentVolume. */
export function decideLeftovers(
  found: readonly NodeVolume[],
  isKnown: (name: string) => boolean,
): readonly string[] {
  return found.filter(({ name, used }) => !used && !isKnown(name)).map(({ name }) => name);
}
