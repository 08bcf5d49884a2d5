/** Volumes, pods and nodes as attaching sees them. Pure. */

import { parseTime } from '#api/meta/time.ts';
import { type AttachableSource, attachableVolumeName } from '#api/meta/volume-names.ts';
import type {
  ContainerStatus,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
} from '#api/schema/gen/core-v1.ts';
import type { VolumeAttachment } from '#api/schema/gen/storage-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';

/** Annotations and taints of nodes. */
export interface AttachWords {
  readonly domain: string;
  readonly managed: string;
  readonly keepsVolumes: string;
  readonly outOfService: string;
}

export const attachWords = ({ domain }: Pick<Vocabulary, 'domain'>): AttachWords => ({
  domain,
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
  readonly attacher?: { readonly driver: string; readonly handle: string; readonly volumeName: string };
}

const SHARED_MODES: ReadonlySet<string> = new Set(['ReadWriteMany', 'ReadOnlyMany']);

/** `undefined`: it is not attached. */
export function attachableOfVolume(
  { metadata, spec = {} }: PersistentVolume,
  { domain }: AttachWords,
): Attachable | undefined {
  const unique = attachableVolumeName(domain, spec);
  if (unique === undefined) return undefined;
  const { accessModes = [], csi } = spec;
  const volumeName = metadata?.name ?? '';
  return {
    unique,
    label: volumeName,
    exclusive: accessModes.length > 0 && !accessModes.some((mode) => SHARED_MODES.has(mode)),
    ...(csi === undefined ? {} : { attacher: { driver: csi.driver, handle: csi.volumeHandle, volumeName } }),
  };
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

function usesOf({ metadata = {}, spec }: Pod, { domain }: AttachWords): readonly Use[] {
  const { namespace = '', name = '', uid = '' } = metadata;
  return (spec?.volumes ?? []).flatMap((volume): readonly Use[] => {
    const { persistentVolumeClaim, ephemeral, iscsi, fc, rbd } = volume;
    if (persistentVolumeClaim !== undefined) {
      return [{ kind: 'claim', key: `${namespace}/${persistentVolumeClaim.claimName}` }];
    }
    if (ephemeral !== undefined) {
      return [{ kind: 'claim', key: `${namespace}/${name}-${volume.name}`, madeFor: uid }];
    }
    const source: AttachableSource = { ...(iscsi && { iscsi }), ...(fc && { fc }), ...(rbd && { rbd }) };
    const unique = attachableVolumeName(domain, source);
    if (unique === undefined) return [];
    return [{ kind: 'inline', volume: { unique, label: volume.name, exclusive: false } }];
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
  readonly attached: boolean;
  readonly deleting: boolean;
  readonly createdMs: number;
  readonly error?: { readonly time: string; readonly message: string };
}

export function attachmentFacts({ metadata = {}, spec, status }: VolumeAttachment): Attachment {
  const { attachError } = status ?? {};
  return {
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    nodeName: spec.nodeName,
    volumeName: spec.source.persistentVolumeName ?? '',
    attached: status?.attached === true,
    deleting: metadata.deletionTimestamp !== undefined,
    createdMs: metadata.creationTimestamp === undefined ? 0 : parseTime(metadata.creationTimestamp),
    ...(attachError === undefined
      ? {}
      : { error: { time: attachError.time ?? '', message: attachError.message ?? '' } }),
  };
}
