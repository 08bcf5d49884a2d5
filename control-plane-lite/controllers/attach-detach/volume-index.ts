/** Index of volumes and of the pods that use them, by the unique name under which nodes know a volume.
 *  Pure. */

import type { PersistentVolume } from '#api/gen/core-v1.ts';
import { attachmentName, parseCsiVolumeName } from '#api/meta/volume-names.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { createIndex, type Indexed } from '../workloads-kit/indexed.ts';
import {
  type Attachable,
  type Attachment,
  type AttachNames,
  type AttachNode,
  attachableOfVolume,
  type BoundClaim,
  type MigratedNode,
  type Use,
  type UsingPod,
} from './model.ts';

/** Observed state of a volume on a node. */
export interface SeenPlace {
  readonly nodeName: string;
  readonly node?: AttachNode;
  readonly attachment?: Attachment;
  /** Pods that want it there. */
  readonly pods: readonly UsingPod[];
}

export interface IndexedVolume {
  readonly name: string;
  readonly claimUid: string;
  readonly attachable: Attachable;
}

export interface VolumeIndex {
  readonly pods: Indexed<UsingPod>;
  readonly claims: Indexed<BoundClaim>;
  readonly volumes: Indexed<IndexedVolume>;
  readonly nodes: Indexed<AttachNode>;
  readonly attachments: Indexed<Attachment>;
  readonly migrated: Indexed<MigratedNode>;
  /** Names of drivers that do not require attaching. */
  readonly unattached: Set<string>;
}

export const onNode = (name: string): string => `node ${name}`;
const ofClaim = (key: string): string => `claim ${key}`;
export const ofVolume = (name: string): string => `volume ${name}`;
const named = (unique: string): string => `named ${unique}`;

export const createVolumeIndex = (): VolumeIndex => ({
  pods: createIndex(({ nodeName, uses }) => [
    onNode(nodeName),
    ...uses.map((use) => (use.kind === 'claim' ? ofClaim(use.key) : named(use.volume.unique))),
  ]),
  claims: createIndex(({ volumeName }) => [ofVolume(volumeName)]),
  volumes: createIndex(({ attachable }) => [named(attachable.unique)]),
  nodes: createIndex(({ reported }) => reported.map(named)),
  attachments: createIndex(({ nodeName, volumeName, inline }) => [
    onNode(nodeName),
    inline === '' ? ofVolume(volumeName) : named(inline),
  ]),
  migrated: createIndex(() => []),
  unattached: new Set(),
});

/** The volume that a pod's claim is bound to. */
function volumeOfClaim(
  { claims, volumes }: VolumeIndex,
  use: Use & { readonly kind: 'claim' },
): IndexedVolume | undefined {
  const claim = claims.get(use.key);
  if (claim === undefined || (use.createdFor !== undefined && claim.controller !== use.createdFor))
    return undefined;
  const volume = volumes.get(claim.volumeName);
  return volume?.claimUid === claim.uid ? volume : undefined;
}

export const uniqueOfUse = (index: VolumeIndex, use: Use): string | undefined =>
  use.kind === 'inline' ? use.volume.unique : volumeOfClaim(index, use)?.attachable.unique;

function isAttached({ unattached }: VolumeIndex, { attacher }: Attachable): boolean {
  return attacher === undefined || !unattached.has(attacher.driver);
}

/** Whether the node has migrated the volume's in-tree plugin to its CSI driver. */
const isServed = ({ migrated }: VolumeIndex, { migratedFrom }: Attachable, nodeName: string): boolean =>
  migratedFrom === undefined || migrated.get(nodeName)?.plugins.includes(migratedFrom) === true;

/** Pods whose spec contains the volume, whether or not they still want it. */
function* podsOf(index: VolumeIndex, unique: string): Generator<UsingPod> {
  yield* index.pods.of(named(unique)).values();
  for (const volume of index.volumes.of(named(unique)).values()) {
    for (const claim of index.claims.of(ofVolume(volume.name)).values()) {
      for (const pod of index.pods.of(ofClaim(claim.key)).values()) {
        if (pod.uses.some((use) => uniqueOfUse(index, use) === unique)) yield pod;
      }
    }
  }
}

export function placesOf(index: VolumeIndex, volume: Attachable): readonly SeenPlace[] {
  const { attacher, unique } = volume;
  const pods = isAttached(index, volume) ? [...new Set(podsOf(index, unique))] : [];
  const byNode = Map.groupBy(pods, ({ nodeName }) => nodeName);
  const nodeNames = new Set(byNode.keys());
  for (const { name } of index.nodes.of(named(unique)).values()) nodeNames.add(name);
  for (const { nodeName } of index.attachments.of(named(unique)).values()) nodeNames.add(nodeName);
  for (const { name } of index.volumes.of(named(unique)).values()) {
    for (const { nodeName } of index.attachments.of(ofVolume(name)).values()) nodeNames.add(nodeName);
  }
  return [...nodeNames].map((nodeName): SeenPlace => {
    const node = index.nodes.get(nodeName);
    const attachment =
      attacher && index.attachments.get(attachmentName(attacher.driver, attacher.handle, nodeName));
    const users = isServed(index, volume, nodeName) ? (byNode.get(nodeName) ?? []) : [];
    const wanting = users.filter(({ ended }) => !ended || node?.keepsVolumes === true);
    return {
      nodeName,
      pods: wanting,
      ...(node === undefined ? {} : { node }),
      ...(attachment === undefined ? {} : { attachment }),
    };
  });
}

export function attachableNamed(
  index: VolumeIndex,
  { domain }: AttachNames,
  unique: string,
): Attachable | undefined {
  const [volume] = index.volumes.of(named(unique)).values();
  if (volume !== undefined) return volume.attachable;
  for (const pod of index.pods.of(named(unique)).values()) {
    const use = pod.uses.find((each) => each.kind === 'inline' && each.volume.unique === unique);
    if (use?.kind === 'inline') return use.volume;
  }
  const csi = parseCsiVolumeName(domain, unique);
  if (csi !== undefined) return { unique, label: unique, exclusive: false, attacher: csi };
  const isOwn = ['iscsi', 'fc', 'rbd'].some((source) => unique.startsWith(`${domain}/${source}/`));
  return isOwn ? { unique, label: unique, exclusive: false } : undefined;
}

export function readVolume(object: ApiObject, names: AttachNames): IndexedVolume | undefined {
  const volume = typed<PersistentVolume>(object);
  const attachable = attachableOfVolume(volume, names);
  if (attachable === undefined) return undefined;
  return { name: object.metadata.name ?? '', claimUid: volume.spec?.claimRef?.uid ?? '', attachable };
}
