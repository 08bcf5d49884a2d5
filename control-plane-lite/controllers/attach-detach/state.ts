/** Cached pods, claims, volumes, nodes and attachments; reports which volumes a change affects. */
import { isDeepStrictEqual } from 'node:util';
import type { Node, PersistentVolumeClaim, Pod } from '#api/gen/core-v1.ts';
import type { CSIDriver, CSINode, VolumeAttachment } from '#api/gen/storage-v1.ts';
import type { ResourceCache, WatchHandle } from '../../cache/contract.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import type { Indexed } from '../workloads-kit/indexed.ts';
import {
  type Attachable,
  type Attachment,
  type AttachNames,
  type AttachNode,
  attachmentFacts,
  attachNode,
  boundClaim,
  migratedNode,
  type UsingPod,
  usingPod,
} from './model.ts';
import {
  attachableNamed,
  createVolumeIndex,
  ofVolume,
  onNode,
  placesOf,
  readVolume,
  type SeenPlace,
  uniqueOfUse,
  type VolumeIndex,
} from './volume-index.ts';

export interface AttachSources {
  readonly pods: Pick<ResourceCache, 'follow'>;
  readonly claims: Pick<ResourceCache, 'follow'>;
  readonly volumes: Pick<ResourceCache, 'follow'>;
  readonly nodes: Pick<ResourceCache, 'follow'>;
  readonly attachments: Pick<ResourceCache, 'follow'>;
  readonly drivers: Pick<ResourceCache, 'follow'>;
  readonly csiNodes: Pick<ResourceCache, 'follow'>;
}

/** Key to reconcile. */
export interface AttachListener {
  /** The volume with this unique name. */
  readonly onVolume: (unique: string) => void;
  /** An attachment of an unknown volume. */
  readonly onLost: (attachment: string) => void;
}

export interface AttachState extends WatchHandle {
  /** The volume of the name, even if only a node still reports it. */
  attachable(unique: string): Attachable | undefined;
  places(volume: Attachable): readonly SeenPlace[];
  node(name: string): AttachNode | undefined;
  /** An attachment of an unknown volume. */
  lost(name: string): Attachment | undefined;
}

/** Stores the facts of an object and reports the previous ones; unchanged facts are not reported. */
function keep<T>(
  source: Pick<ResourceCache, 'follow'>,
  index: Indexed<T>,
  read: (object: ApiObject) => T | undefined,
  onChange: (before: T | undefined, now: T | undefined) => void,
): WatchHandle {
  return source.follow(({ type, current }) => {
    const now = type === 'DELETED' ? undefined : read(current.object());
    const before = index.get(current.key);
    if (isDeepStrictEqual(before, now)) return;
    index.set(current.key, now);
    onChange(before, now);
  });
}

interface Due {
  uses(pod: UsingPod | undefined): void;
  volume(name: string | undefined): void;
  attachment(attachment: Attachment | undefined): void;
  /** Volumes that are on a node, or wanted there. */
  node(name: string): void;
}

function createDue(index: VolumeIndex, { onVolume, onLost }: AttachListener): Due {
  const due: Due = {
    uses(pod) {
      for (const use of pod?.uses ?? []) {
        const unique = uniqueOfUse(index, use);
        if (unique !== undefined) onVolume(unique);
      }
    },
    volume(name) {
      const volume = name === undefined ? undefined : index.volumes.get(name);
      if (volume !== undefined) onVolume(volume.attachable.unique);
    },
    attachment(attachment) {
      if (attachment === undefined) return;
      if (attachment.inline !== '') onVolume(attachment.inline);
      else if (index.volumes.get(attachment.volumeName) === undefined) onLost(attachment.name);
      else due.volume(attachment.volumeName);
    },
    node(name) {
      for (const pod of index.pods.of(onNode(name)).values()) due.uses(pod);
      for (const attachment of index.attachments.of(onNode(name)).values()) due.attachment(attachment);
    },
  };
  return due;
}

function followDrivers(
  { drivers }: AttachSources,
  { unattached, volumes, pods }: VolumeIndex,
  onVolume: AttachListener['onVolume'],
): WatchHandle {
  return drivers.follow(({ type, current }) => {
    const { spec } = typed<CSIDriver>(current.object());
    const isOff = type !== 'DELETED' && spec.attachRequired === false;
    if (isOff === unattached.has(current.name)) return;
    if (isOff) unattached.add(current.name);
    else unattached.delete(current.name);
    for (const { attachable } of volumes.values()) {
      if (attachable.attacher?.driver === current.name) onVolume(attachable.unique);
    }
    for (const use of [...pods.values()].flatMap(({ uses }) => uses)) {
      if (use.kind === 'inline' && use.volume.attacher?.driver === current.name) onVolume(use.volume.unique);
    }
  });
}

/** Claims and volumes: maps names to volumes. */
function followNames(
  sources: AttachSources,
  { claims, volumes, attachments }: VolumeIndex,
  names: AttachNames,
  { due, onVolume }: { readonly due: Due } & Pick<AttachListener, 'onVolume'>,
): readonly WatchHandle[] {
  return [
    keep(
      sources.volumes,
      volumes,
      (object) => readVolume(object, names),
      (before, now) => {
        for (const each of [before, now]) if (each !== undefined) onVolume(each.attachable.unique);
        const { name = '' } = now ?? before ?? {};
        for (const each of attachments.of(ofVolume(name)).values()) due.attachment(each);
      },
    ),
    keep(
      sources.claims,
      claims,
      (object) => boundClaim(typed<PersistentVolumeClaim>(object)),
      (before, now) => {
        for (const each of [before, now]) due.volume(each?.volumeName);
      },
    ),
  ];
}

/** Nodes, attachments and pods: the nodes where volumes are, and where they are wanted. */
function followPlaces(
  sources: AttachSources,
  { nodes, pods, attachments, migrated }: VolumeIndex,
  names: AttachNames,
  { due, onVolume }: { readonly due: Due } & Pick<AttachListener, 'onVolume'>,
): readonly WatchHandle[] {
  return [
    keep(
      sources.nodes,
      nodes,
      (object) => attachNode(typed<Node>(object), names),
      (before, now) => {
        for (const unique of new Set([...(before?.reported ?? []), ...(now?.reported ?? [])]))
          onVolume(unique);
        due.node((now ?? before)?.name ?? '');
      },
    ),
    keep(
      sources.csiNodes,
      migrated,
      (object) => migratedNode(typed<CSINode>(object), names),
      (before, now) => due.node((now ?? before)?.name ?? ''),
    ),
    keep(
      sources.attachments,
      attachments,
      (object) => attachmentFacts(typed<VolumeAttachment>(object), names),
      (before, now) => due.attachment(now ?? before),
    ),
    keep(
      sources.pods,
      pods,
      (object) => usingPod(typed<Pod>(object), names),
      (before, now) => {
        due.uses(before);
        due.uses(now);
      },
    ),
  ];
}

export function followAttachments(
  sources: AttachSources,
  names: AttachNames,
  listener: AttachListener,
): AttachState {
  const index = createVolumeIndex();
  const notify = { due: createDue(index, listener), onVolume: listener.onVolume };
  const following = [
    followDrivers(sources, index, listener.onVolume),
    ...followNames(sources, index, names, notify),
    ...followPlaces(sources, index, names, notify),
  ];
  return {
    attachable: (unique) => attachableNamed(index, names, unique),
    places: (volume) => placesOf(index, volume),
    node: (name) => index.nodes.get(name),
    lost(name) {
      const found = index.attachments.get(name);
      if (found === undefined || found.volumeName === '') return undefined;
      return index.volumes.get(found.volumeName) === undefined ? found : undefined;
    },
    close() {
      for (const each of following) each.close();
    },
  };
}
