/** Which pods nobody will ever remove otherwise. Pure. Source: upstream's pod garbage collector, release 1.24. */

export interface CollectablePod {
  readonly key: string;
  readonly uid: string;
  /** Empty: not yet on a node. */
  readonly nodeName: string;
  readonly finished: boolean;
  readonly deleting: boolean;
  readonly createdMs: number;
}

/** A node as its pods depend on it. */
export interface PodNode {
  /** Somebody says that it is shut down, and it is not ready: nothing runs there. */
  readonly outOfService: boolean;
}

/** Nobody ends it: its node is not there or out of service, or it never had one and was deleted. */
export function isAbandoned(
  { nodeName, deleting }: Pick<CollectablePod, 'nodeName' | 'deleting'>,
  nodeOf: (name: string) => PodNode | undefined,
): boolean {
  if (nodeName === '') return deleting;
  const node = nodeOf(nodeName);
  return node === undefined || (deleting && node.outOfService);
}

/** Pods at their end that are too many: the oldest. `most` 0 or less: any number may stay. */
export function tooManyFinished<P extends CollectablePod>(pods: Iterable<P>, most: number): readonly P[] {
  if (most <= 0) return [];
  const finished = [...pods].filter((pod) => pod.finished && !pod.deleting);
  const excess = finished.length - most;
  if (excess <= 0) return [];
  return finished.toSorted((a, b) => a.createdMs - b.createdMs || (a.key < b.key ? -1 : 1)).slice(0, excess);
}
