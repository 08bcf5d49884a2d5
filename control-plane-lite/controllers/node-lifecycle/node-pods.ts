/** Pods of each node, with the fields that eviction reads. Follows the cache. */
import type { Pod, Toleration } from '#api/gen/core-v1.ts';
import type { CachedObject, ResourceCache, WatchHandle } from '../../cache/contract.ts';
import { typed } from '../../resources/view.ts';

export interface NodePod {
  /** `namespace/name` */
  readonly key: string;
  readonly uid: string;
  readonly nodeName: string;
  readonly tolerations: readonly Toleration[];
  readonly ready: boolean;
  readonly deleting: boolean;
  readonly cached: CachedObject;
}

export interface NodePods extends WatchHandle {
  get(key: string): NodePod | undefined;
  on(nodeName: string): readonly NodePod[];
}

const read = (cached: CachedObject): NodePod => {
  const { spec, status, metadata } = typed<Pod>(cached.object());
  return {
    key: cached.key,
    uid: metadata?.uid ?? '',
    nodeName: spec?.nodeName ?? '',
    tolerations: spec?.tolerations ?? [],
    ready: status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true,
    deleting: metadata?.deletionTimestamp !== undefined,
    cached,
  };
};

/** `onPod` is called for each added or changed pod with a node. */
export function followNodePods(
  cache: Pick<ResourceCache, 'follow'>,
  onPod: (pod: NodePod) => void,
): NodePods {
  const byKey = new Map<string, NodePod>();
  const byNode = new Map<string, Map<string, NodePod>>();

  function forget({ key, nodeName }: NodePod): void {
    byKey.delete(key);
    const pods = byNode.get(nodeName);
    pods?.delete(key);
    if (pods?.size === 0) byNode.delete(nodeName);
  }

  const following = cache.follow(({ type, current }) => {
    const known = byKey.get(current.key);
    if (known !== undefined) forget(known);
    if (type === 'DELETED') return;
    const pod = read(current);
    if (pod.nodeName === '') return;
    byKey.set(pod.key, pod);
    const pods = byNode.get(pod.nodeName) ?? new Map<string, NodePod>();
    byNode.set(pod.nodeName, pods.set(pod.key, pod));
    onPod(pod);
  });
  return {
    get: (key) => byKey.get(key),
    on: (nodeName) => [...(byNode.get(nodeName)?.values() ?? [])],
    close: () => following.close(),
  };
}
