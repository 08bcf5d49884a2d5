/** Queues claims, volumes and nodes of the local provisioner when something about them changes. */
import type { PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import type { StorageClass } from '#api/gen/storage-v1.ts';
import type { CacheChange, ResourceCache, WatchHandle } from '../../cache/contract.ts';
import { typed } from '../../resources/view.ts';
import { hostnameOfVolume, isToDelete, kindOf, type ProvisionerNames, volumeNameOf } from './decide.ts';

const KINDS = ['claim', 'volume', 'node'] as const;

export interface Work {
  readonly kind: (typeof KINDS)[number];
  readonly key: string;
}

/** Keys of several kinds in one queue; none contains a blank. */
const keyOf = (kind: Work['kind'], key: string): string => `${kind} ${key}`;

export function workOf(text: string): Work {
  const at = text.indexOf(' ');
  const kind = KINDS.find((each) => each === text.slice(0, at)) ?? 'claim';
  return { kind, key: text.slice(at + 1) };
}

type Watched = 'persistentvolumeclaims' | 'persistentvolumes' | 'storageclasses' | 'nodes';

export interface Following {
  readonly handles: readonly WatchHandle[];
  /** Whether a class has this provisioner. Without one, no node is asked for its volumes. */
  readonly usesClasses: () => boolean;
  /** Returns the name of the node with this label. */
  readonly nodeWith: (hostname: string) => string | undefined;
  /** Reports whether a claim exists whose volume has this name. */
  readonly isClaimed: (volumeName: string) => boolean;
}

export function followProvisioning(
  cacheOf: (kind: Watched) => Pick<ResourceCache, 'follow'>,
  names: ProvisionerNames,
  due: (key: string) => void,
): Following {
  /** Claims by the node that has to create their volumes. */
  const waiting = new Map<string, string>();
  /** Volumes to remove, by the label of their node. */
  const leaving = new Map<string, string>();
  /** Nodes by name, with their labels. */
  const known = new Map<string, string>();
  const claimed = new Map<string, string>();
  const classes = new Set<string>();

  function onClass({ type, current }: CacheChange): void {
    const isOurs = kindOf(typed<StorageClass>(current.object()).provisioner, names) !== undefined;
    if (!isOurs) return;
    const isFirst = classes.size === 0;
    if (type === 'DELETED') classes.delete(current.name);
    else classes.add(current.name);
    if (isFirst) for (const node of known.keys()) due(keyOf('node', node));
    for (const key of waiting.keys()) due(keyOf('claim', key));
  }

  function onClaim({ type, current }: CacheChange): void {
    const claim = typed<PersistentVolumeClaim>(current.object());
    const { metadata, spec } = claim;
    const node = metadata?.annotations?.[names.selectedNode] ?? '';
    const provisioner = metadata?.annotations?.[names.provisioner];
    const isWaiting = (spec?.volumeName ?? '') === '' && kindOf(provisioner, names) !== undefined;
    waiting.delete(current.key);
    if (type === 'DELETED') claimed.delete(current.key);
    else claimed.set(current.key, volumeNameOf(claim));
    if (!isWaiting) return;
    if (type !== 'DELETED') {
      waiting.set(current.key, node);
      due(keyOf('claim', current.key));
      // The node may have created the volume of a claim that is gone.
    } else if (known.has(node)) due(keyOf('node', node));
  }

  function onVolume({ type, current }: CacheChange): void {
    const volume = typed<PersistentVolume>(current.object());
    leaving.delete(current.name);
    if (type === 'DELETED' || !isToDelete(volume, names)) return;
    leaving.set(current.name, hostnameOfVolume(volume, names) ?? '');
    due(keyOf('volume', current.name));
  }

  function onNode({ type, current }: CacheChange): void {
    const { name } = current;
    const isNew = !known.has(name);
    const hostname = current.object().metadata.labels?.[names.hostname] ?? '';
    if (type === 'DELETED') known.delete(name);
    else known.set(name, hostname);
    if (type !== 'DELETED' && isNew && classes.size > 0) due(keyOf('node', name));
    for (const [key, node] of waiting) if (node === name) due(keyOf('claim', key));
    for (const [key, label] of leaving) if (label === hostname) due(keyOf('volume', key));
  }

  const handles = [
    cacheOf('storageclasses').follow(onClass),
    cacheOf('persistentvolumeclaims').follow(onClaim),
    cacheOf('persistentvolumes').follow(onVolume),
    cacheOf('nodes').follow(onNode),
  ];
  return {
    handles,
    usesClasses: () => classes.size > 0,
    nodeWith(hostname) {
      for (const [name, label] of known) if (label === hostname) return name;
      return undefined;
    },
    isClaimed(volumeName) {
      for (const name of claimed.values()) if (name === volumeName) return true;
      return false;
    },
  };
}
