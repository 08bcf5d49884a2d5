/** Pods that only the pod garbage collector will delete. Pure. Source: upstream's pod garbage collector,
 *  release 1.24. */

export interface CollectablePod {
  readonly key: string;
  readonly uid: string;
  /** Empty: not scheduled. */
  readonly nodeName: string;
  readonly finished: boolean;
  readonly deleting: boolean;
  readonly createdMs: number;
}

/** Facts about a node that pods depend on. */
export interface PodNode {
  /** It is tainted as out of service and not ready: nothing runs there. */
  readonly outOfService: boolean;
}

/** No node terminates the pod: its node is missing or out of service, or it was deleted before it was
 *  scheduled. */
export function isAbandoned(
  { nodeName, deleting }: Pick<CollectablePod, 'nodeName' | 'deleting'>,
  nodeOf: (name: string) => PodNode | undefined,
): boolean {
  if (nodeName === '') return deleting;
  const node = nodeOf(nodeName);
  return node === undefined || (deleting && node.outOfService);
}

/** The oldest terminated pods above the threshold `most`. 0 or less: unlimited. */
export function tooManyFinished<P extends CollectablePod>(pods: Iterable<P>, most: number): readonly P[] {
  if (most <= 0) return [];
  const finished = [...pods].filter((pod) => pod.finished && !pod.deleting);
  const excess = finished.length - most;
  if (excess <= 0) return [];
  return finished.toSorted((a, b) => a.createdMs - b.createdMs || (a.key < b.key ? -1 : 1)).slice(0, excess);
}
