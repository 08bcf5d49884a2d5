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

/** Nobody ends it: its node is not there, or it never had one and was deleted. */
export const isAbandoned = (
  { nodeName, deleting }: Pick<CollectablePod, 'nodeName' | 'deleting'>,
  hasNode: (name: string) => boolean,
): boolean => (nodeName === '' ? deleting : !hasNode(nodeName));

/** Pods at their end that are too many: the oldest. `most` 0 or less: any number may stay. */
export function tooManyFinished<P extends CollectablePod>(pods: Iterable<P>, most: number): readonly P[] {
  if (most <= 0) return [];
  const finished = [...pods].filter((pod) => pod.finished && !pod.deleting);
  const excess = finished.length - most;
  if (excess <= 0) return [];
  return finished.toSorted((a, b) => a.createdMs - b.createdMs || (a.key < b.key ? -1 : 1)).slice(0, excess);
}
