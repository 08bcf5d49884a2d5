/** Volumes, pods and nodes reduced to the fields that attach/detach decisions read. Pure. */

import type {
  ContainerStatus,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Volume,
} from '#api/gen/core-v1.ts';
import type { CSINode, VolumeAttachment, VolumeAttachmentSource, VolumeError } from '#api/gen/storage-v1.ts';
import { type MigratedSource, migratedPluginsAnnotation, migrateSource } from '#api/meta/csi-migration.ts';
import { parseTime } from '#api/meta/time.ts';
import { type AttachableSource, attachableVolumeName, csiVolumeName } from '#api/meta/volume-names.ts';
import type { Vocabulary } from '#api/vocabulary.ts';

/** Annotations and taints of nodes. */
export interface AttachNames {
  readonly domain: string;
  readonly managed: string;
  readonly keepsVolumes: string;
  readonly outOfService: string;
  /** Annotation of CSINodes. */
  readonly migrated: string;
  /** Enabled feature gates. */
  readonly gates: ReadonlySet<string>;
}

export const attachNames = (
  { domain }: Pick<Vocabulary, 'domain'>,
  gates: ReadonlySet<string>,
): AttachNames => ({
  domain,
  gates,
  migrated: migratedPluginsAnnotation(domain),
  managed: `volumes.${domain}/controller-managed-attach-detach`,
  keepsVolumes: `volumes.${domain}/keep-terminated-pod-volumes`,
  outOfService: `node.${domain}/out-of-service`,
});

/** A volume that is attached to a node before a pod there can mount it. */
export interface Attachable {
  /** Unique name under which nodes report it. */
  readonly unique: string;
  /** Display name. */
  readonly label: string;
  /** On one node at a time. */
  readonly exclusive: boolean;
  /** Its attacher; absent: the node itself, which only needs the report that it may attach. */
  readonly attacher?: {
    readonly driver: string;
    readonly handle: string;
    /** Source for the attachment request; absent: the volume no longer exists. */
    readonly source?: VolumeAttachmentSource;
  };
  /** In-tree plugin of the volume: a CSI volume on nodes that have migrated the plugin to its driver. */
  readonly migratedFrom?: string;
}

const SHARED_MODES: ReadonlySet<string> = new Set(['ReadWriteMany', 'ReadOnlyMany']);

/** `undefined`: it does not require attaching. */
export function attachableOfVolume(
  { metadata = {}, spec = {} }: PersistentVolume,
  { domain, gates }: AttachNames,
): Attachable | undefined {
  const { accessModes = [] } = spec;
  const { labels = {}, name: label = '' } = metadata;
  const exclusive = accessModes.length > 0 && !accessModes.some((mode) => SHARED_MODES.has(mode));
  const migrated = migrateSource(spec, { domain, gates, labels });
  const csi = spec.csi ?? migrated;
  if (csi === undefined) {
    const unique = attachableVolumeName(domain, spec);
    return unique === undefined ? undefined : { unique, label, exclusive };
  }
  const { driver, volumeHandle: handle } = csi;
  return {
    unique: csiVolumeName(domain, driver, handle),
    label,
    exclusive,
    attacher: { driver, handle, source: { persistentVolumeName: label } },
    ...(migrated === undefined ? {} : { migratedFrom: migrated.plugin }),
  };
}

/** An inline volume of a pod whose in-tree plugin is migrated to a CSI driver. */
function migratedInline(label: string, migrated: MigratedSource, domain: string): Attachable {
  const { plugin, ...csi } = migrated;
  const { driver, volumeHandle: handle, readOnly = false } = csi;
  const accessModes = [readOnly ? 'ReadOnlyMany' : 'ReadWriteOnce'] as const;
  return {
    unique: csiVolumeName(domain, driver, handle),
    label,
    exclusive: !readOnly,
    attacher: { driver, handle, source: { inlineVolumeSpec: { accessModes, csi } } },
    migratedFrom: plugin,
  };
}

/** `undefined`: it does not require attaching, or is not an inline volume. */
function attachableInline(volume: Volume, { domain, gates }: AttachNames): Attachable | undefined {
  const { iscsi, fc, rbd, name: label } = volume;
  const migrated = migrateSource(volume, { domain, gates });
  if (migrated !== undefined) return migratedInline(label, migrated, domain);
  const source: AttachableSource = { ...(iscsi && { iscsi }), ...(fc && { fc }), ...(rbd && { rbd }) };
  const unique = attachableVolumeName(domain, source);
  return unique === undefined ? undefined : { unique, label, exclusive: false };
}

/** A volume that a pod uses: by a claim, or inline. */
export type Use =
  | {
      readonly kind: 'claim';
      readonly key: string;
      /** It counts only if the claim was created for this pod. */
      readonly createdFor?: string;
    }
  | { readonly kind: 'inline'; readonly volume: Attachable };

export interface UsingPod {
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly nodeName: string;
  readonly createdMs: number;
  /** All of its containers have terminated for good. */
  readonly ended: boolean;
  readonly uses: readonly Use[];
}

const runs = ({ state }: ContainerStatus): boolean =>
  state?.terminated === undefined && state?.waiting === undefined;

function hasEnded({ metadata, status = {} }: Pod): boolean {
  if (status.phase === 'Succeeded' || status.phase === 'Failed') return true;
  return metadata?.deletionTimestamp !== undefined && !(status.containerStatuses ?? []).some(runs);
}

function usesOf({ metadata = {}, spec }: Pod, names: AttachNames): readonly Use[] {
  const { namespace = '', name = '', uid = '' } = metadata;
  return (spec?.volumes ?? []).flatMap((volume): readonly Use[] => {
    const { persistentVolumeClaim, ephemeral } = volume;
    if (persistentVolumeClaim !== undefined) {
      return [{ kind: 'claim', key: `${namespace}/${persistentVolumeClaim.claimName}` }];
    }
    if (ephemeral !== undefined) {
      return [{ kind: 'claim', key: `${namespace}/${name}-${volume.name}`, createdFor: uid }];
    }
    const attachable = attachableInline(volume, names);
    return attachable === undefined ? [] : [{ kind: 'inline', volume: attachable }];
  });
}

/** `undefined`: the pod has no node, or no volume that may require attaching. */
export function usingPod(pod: Pod, names: AttachNames): UsingPod | undefined {
  const nodeName = pod.spec?.nodeName ?? '';
  if (nodeName === '') return undefined;
  const uses = usesOf(pod, names);
  if (uses.length === 0) return undefined;
  const { namespace = '', name = '', uid = '', creationTimestamp } = pod.metadata ?? {};
  return {
    key: `${namespace}/${name}`,
    namespace,
    name,
    uid,
    nodeName,
    createdMs: creationTimestamp === undefined ? 0 : parseTime(creationTimestamp),
    ended: hasEnded(pod),
    uses,
  };
}

export interface BoundClaim {
  readonly key: string;
  readonly uid: string;
  readonly volumeName: string;
  /** Uid of the owner that it was created for; empty: none. */
  readonly controller: string;
}

/** `undefined`: it is not bound. */
export function boundClaim({ metadata = {}, spec, status }: PersistentVolumeClaim): BoundClaim | undefined {
  const volumeName = spec?.volumeName ?? '';
  if (volumeName === '' || status?.phase !== 'Bound') return undefined;
  return {
    key: `${metadata.namespace ?? ''}/${metadata.name ?? ''}`,
    uid: metadata.uid ?? '',
    volumeName,
    controller: metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid ?? '',
  };
}

export interface AttachNode {
  readonly name: string;
  /** Its agent leaves attaching to this controller. */
  readonly managed: boolean;
  /** Volumes of terminated pods stay attached. */
  readonly keepsVolumes: boolean;
  readonly outOfService: boolean;
  /** Names of volumes. */
  readonly inUse: readonly string[];
  readonly reported: readonly string[];
}

export function attachNode({ metadata = {}, spec = {}, status = {} }: Node, names: AttachNames): AttachNode {
  const { annotations = {} } = metadata;
  return {
    name: metadata.name ?? '',
    managed: annotations[names.managed] === 'true',
    keepsVolumes: annotations[names.keepsVolumes] === 'true',
    outOfService: (spec.taints ?? []).some(({ key }) => key === names.outOfService),
    inUse: status.volumesInUse ?? [],
    reported: (status.volumesAttached ?? []).map(({ name }) => name),
  };
}

export interface Attachment {
  readonly name: string;
  readonly uid: string;
  readonly nodeName: string;
  /** Empty: it has none. */
  readonly volumeName: string;
  /** Unique name of an inline volume; empty: it is not inline. */
  readonly inline: string;
  readonly attached: boolean;
  readonly deleting: boolean;
  readonly createdMs: number;
  /** Error of the attacher when attaching. */
  readonly error?: AttachmentError;
  /** Error of the attacher when detaching. */
  readonly detachError?: AttachmentError;
}

export interface AttachmentError {
  readonly time: string;
  readonly message: string;
}

const errorOf = ({ time = '', message = '' }: VolumeError): AttachmentError => ({ time, message });

export function attachmentFacts(
  { metadata = {}, spec, status }: VolumeAttachment,
  { domain }: AttachNames,
): Attachment {
  const { attachError, detachError } = status ?? {};
  const { persistentVolumeName: volumeName = '', inlineVolumeSpec } = spec.source;
  const csi = inlineVolumeSpec?.csi;
  return {
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    nodeName: spec.nodeName,
    volumeName,
    inline: csi === undefined ? '' : csiVolumeName(domain, csi.driver, csi.volumeHandle),
    attached: status?.attached === true,
    deleting: metadata.deletionTimestamp !== undefined,
    createdMs: metadata.creationTimestamp === undefined ? 0 : parseTime(metadata.creationTimestamp),
    ...(attachError === undefined ? {} : { error: errorOf(attachError) }),
    ...(detachError === undefined ? {} : { detachError: errorOf(detachError) }),
  };
}

/** In-tree plugins that a node has migrated to CSI drivers. */
export interface MigratedNode {
  readonly name: string;
  /** Names of in-tree plugins. */
  readonly plugins: readonly string[];
}

export const migratedNode = ({ metadata }: CSINode, { migrated }: AttachNames): MigratedNode => ({
  name: metadata?.name ?? '',
  plugins: (metadata?.annotations?.[migrated] ?? '').split(',').filter((plugin) => plugin !== ''),
});
