/** Samples of resource usage as one scrape of a node has them. Pure. */

/** Usage of a container, or of a node, at one time. */
export interface Point {
  /** When the counter was zero, in ms since the epoch; 0 for a node. */
  readonly startMs: number;
  /** By the clock of the node, in ms since the epoch. */
  readonly atMs: number;
  /** CPU time used since the start, in ns. */
  readonly cpuNs: number;
  /** Working set. */
  readonly memoryBytes: number;
}

/** By name of the container. */
export type PodPoints = ReadonlyMap<string, Point>;

export interface Scrape {
  /** Absent: the node reported no complete sample of itself. */
  readonly node: Point | undefined;
  /** By `namespace/name`; pods with an incomplete container are not there. */
  readonly pods: ReadonlyMap<string, PodPoints>;
}

export const podKey = (namespace: string, name: string): string => `${namespace}/${name}`;
