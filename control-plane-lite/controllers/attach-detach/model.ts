/** Volumes, pods and nodes as attaching sees them. Pure. */

import { type MigratedSource, migratedPluginsAnnotation, migrateSource } from '#api/meta/csi-migration.ts';
import { parseTime } from '#api/meta/time.ts';
import { type AttachableSource, attachableVolumeName, csiVolumeName } from '#api/meta/volume-names.ts';
import type {
  ContainerStatus,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Volume,
} from '#api/schema/gen/core-v1.ts';
import type {
  CSINode,
  VolumeAttachment,
  VolumeAttachmentSource,
  VolumeError,
} from '#api/schema/gen/storage-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';

/** Annotations and taints of nodes. */
export interface AttachWords {
  readonly domain: string;
  readonly managed: string;
  readonly keepsVolumes: string;
  readonly outOfService: string;
  /** Annotation of CSINodes. */
  readonly migrated: string;
  /** Feature gates that are on. */
  readonly gates: ReadonlySet<string>;
}

export const attachWords = (
  { domain }: Pick<Vocabulary, 'domain'>,
  gates: ReadonlySet<string>,
): AttachWords => ({
  domain,
  gates,
  migrated: migratedPluginsAnnotation(domain),
  managed: `volumes.${domain}/controller-managed-attach-detach`,
  keepsVolumes: `volumes.${domain}/keep-terminated-pod-volumes`,
  outOfService: `node.${domain}/out-of-service`,
});

/** A volume that is attached to a node before a pod there can mount it. */
export interface Attachable {
  /** The name that nodes know it by. */
  readonly unique: string;
  /** The name that people know it by. */
  readonly label: string;
  /** On one node at a time. */
  readonly exclusive: boolean;
  /** Who attaches it; absent: the node itself, which only has to be told that it may. */
  readonly attacher?: {
    readonly driver: string;
    readonly handle: string;
    /** What to ask for; absent: nothing is left that could be asked for. */
    readonly source?: VolumeAttachmentSource;
  };
  /** The older plugin that the volume is of: a CSI volume on nodes that have left that plugin to its driver. */
  readonly migratedFrom?: string;
}

const SHARED_MODES: ReadonlySet<string> = new Set(['ReadWriteMany', 'ReadOnlyMany']);

/** `undefined`: it is not attached. */
export function attachableOfVolume(
  { metadata = {}, spec = {} }: PersistentVolume,
  { domain, gates }: AttachWords,
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

/** A volume that a pod itself has, of a kind that a CSI driver attaches now. */
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

/** `undefined`: it is not attached, or not a volume that the pod itself has. */
function attachableInline(volume: Volume, { domain, gates }: AttachWords): Attachable | undefined {
  const { iscsi, fc, rbd, name: label } = volume;
  const migrated = migrateSource(volume, { domain, gates });
  if (migrated !== undefined) return migratedInline(label, migrated, domain);
  const source: AttachableSource = { ...(iscsi && { iscsi }), ...(fc && { fc }), ...(rbd && { rbd }) };
  const unique = attachableVolumeName(domain, source);
  return unique === undefined ? undefined : { unique, label, exclusive: false };
}

/** A volume that a pod uses: by a claim, or by what the pod itself says. */
export type Use =
  | {
      readonly kind: 'claim';
      readonly key: string;
      /** It counts only if the claim was made for this pod. */
      readonly madeFor?: string;
    }
  | { readonly kind: 'inline'; readonly volume: Attachable };

export interface UsingPod {
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly nodeName: string;
  readonly createdMs: number;
  /** None of its containers runs any more, for good. */
  readonly ended: boolean;
  readonly uses: readonly Use[];
}

const runs = ({ state }: ContainerStatus): boolean =>
  state?.terminated === undefined && state?.waiting === undefined;

function hasEnded({ metadata, status = {} }: Pod): boolean {
  if (status.phase === 'Succeeded' || status.phase === 'Failed') return true;
  return metadata?.deletionTimestamp !== undefined && !(status.containerStatuses ?? []).some(runs);
}

function usesOf({ metadata = {}, spec }: Pod, words: AttachWords): readonly Use[] {
  const { namespace = '', name = '', uid = '' } = metadata;
  return (spec?.volumes ?? []).flatMap((volume): readonly Use[] => {
    const { persistentVolumeClaim, ephemeral } = volume;
    if (persistentVolumeClaim !== undefined) {
      return [{ kind: 'claim', key: `${namespace}/${persistentVolumeClaim.claimName}` }];
    }
    if (ephemeral !== undefined) {
      return [{ kind: 'claim', key: `${namespace}/${name}-${volume.name}`, madeFor: uid }];
    }
    const attachable = attachableInline(volume, words);
    return attachable === undefined ? [] : [{ kind: 'inline', volume: attachable }];
  });
}

/** `undefined`: it has no node, or nothing that may have to be attached. */
export function usingPod(pod: Pod, words: AttachWords): UsingPod | undefined {
  const nodeName = pod.spec?.nodeName ?? '';
  if (nodeName === '') return undefined;
  const uses = usesOf(pod, words);
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
  /** Uid of the object that it was made for; empty: of none. */
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
  /** Volumes of pods that have ended stay. */
  readonly keepsVolumes: boolean;
  readonly outOfService: boolean;
  /** Names of volumes. */
  readonly inUse: readonly string[];
  readonly reported: readonly string[];
}

export function attachNode({ metadata = {}, spec = {}, status = {} }: Node, words: AttachWords): AttachNode {
  const { annotations = {} } = metadata;
  return {
    name: metadata.name ?? '',
    managed: annotations[words.managed] === 'true',
    keepsVolumes: annotations[words.keepsVolumes] === 'true',
    outOfService: (spec.taints ?? []).some(({ key }) => key === words.outOfService),
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
  /** The name that nodes know a volume by that a pod itself has; empty: it is none. */
  readonly inline: string;
  readonly attached: boolean;
  readonly deleting: boolean;
  readonly createdMs: number;
  /** What kept the attacher from attaching it. */
  readonly error?: AttachmentError;
  /** What kept the attacher from detaching it. */
  readonly detachError?: AttachmentError;
}

export interface AttachmentError {
  readonly time: string;
  readonly message: string;
}

const errorOf = ({ time = '', message = '' }: VolumeError): AttachmentError => ({ time, message });

export function attachmentFacts(
  { metadata = {}, spec, status }: VolumeAttachment,
  { domain }: AttachWords,
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

/** What a node has left to CSI drivers. */
export interface MigratedNode {
  readonly name: string;
  /** Names of older plugins. */
  readonly plugins: readonly string[];
}

export const migratedNode = ({ metadata }: CSINode, { migrated }: AttachWords): MigratedNode => ({
  name: metadata?.name ?? '',
  plugins: (metadata?.annotations?.[migrated] ?? '').split(',').filter((plugin) => plugin !== ''),
});
