/** Rates from two scrapes: which two points belong together, and what was used between them. Pure.
 *  Source: upstream's metrics server, its storage of points. */
import type { PodPoints, Point, Scrape } from './points.ts';

/** The newest point, and the one that its rate is counted from. */
export interface Series {
  readonly last: Point;
  /** Of the same container, before `last`. Absent: there is no rate yet. */
  readonly previous: Point | undefined;
}

export type PodSeries = ReadonlyMap<string, Series>;

/** Latest samples of a node and its pods. */
export interface NodeSeries {
  readonly node: Series | undefined;
  readonly pods: ReadonlyMap<string, PodSeries>;
}

export interface Usage {
  /** In thousand-millionths of a core. */
  readonly nanocores: number;
  readonly memoryBytes: number;
  /** End of the window in which the CPU time was used. */
  readonly atMs: number;
  readonly windowMs: number;
}

/** Time between two regular scrapes. */
export const PERIOD_MS = 15_000;
/** A container that has run for less says little by its start. */
const LEAST_AGE_MS = 10_000;
/** A window is not cut shorter than this by a scrape that came early… */
const SHORT_WINDOW_MS = 10_000;
/** …unless it would become longer than this. */
const LONG_WINDOW_MS = 30_000;

export const NOTHING: NodeSeries = { node: undefined, pods: new Map() };

/** The point that a container began with, if that alone makes a window. */
function beginning({ startMs, atMs, ...point }: Point): Point | undefined {
  const ageMs = atMs - startMs;
  return startMs > 0 && ageMs >= LEAST_AGE_MS && ageMs < PERIOD_MS
    ? { ...point, startMs, atMs: startMs, cpuNs: 0 }
    : undefined;
}

function previousOf(point: Point, known: Series | undefined): Point | undefined {
  const begun = beginning(point);
  if (begun !== undefined) return begun;
  // A container that began after the last point is another one.
  if (known === undefined || point.startMs >= known.last.atMs) return undefined;
  const { last, previous } = known;
  if (point.atMs <= last.atMs) {
    return previous !== undefined && previous.atMs < point.atMs ? previous : undefined;
  }
  const isEarly =
    previous !== undefined &&
    point.atMs - last.atMs < SHORT_WINDOW_MS &&
    point.atMs - previous.atMs <= LONG_WINDOW_MS;
  return isEarly ? previous : last;
}

const follow = (point: Point, known: Series | undefined): Series => ({
  last: point,
  previous: previousOf(point, known),
});

function followPod(points: PodPoints, known: PodSeries | undefined): PodSeries {
  return new Map([...points].map(([name, point]) => [name, follow(point, known?.get(name))]));
}

/** Returns the samples after another scrape. Pods that it lacks are dropped. */
export function followScrape(scrape: Scrape, known: NodeSeries): NodeSeries {
  return {
    node: scrape.node === undefined ? undefined : follow(scrape.node, known.node),
    pods: new Map([...scrape.pods].map(([key, points]) => [key, followPod(points, known.pods.get(key))])),
  };
}

/** `undefined` without two points, and where the counter went back. */
export function usageOf({ last, previous }: Series): Usage | undefined {
  if (previous === undefined || last.startMs < previous.startMs || last.cpuNs < previous.cpuNs) {
    return undefined;
  }
  const windowMs = last.atMs - previous.atMs;
  return {
    nanocores: Math.trunc((last.cpuNs - previous.cpuNs) / (windowMs / 1000)),
    memoryBytes: last.memoryBytes,
    atMs: last.atMs,
    windowMs,
  };
}

/** Usage of a pod's containers in the order in which the node reports them. A container whose counter went back is left
 *  out; `undefined` if one was not there before. */
export function podUsage(pod: PodSeries): ReadonlyMap<string, Usage> | undefined {
  const usages = new Map<string, Usage>();
  for (const [name, series] of pod) {
    if (series.previous === undefined) return undefined;
    const usage = usageOf(series);
    if (usage !== undefined) usages.set(name, usage);
  }
  return usages.size === 0 ? undefined : usages;
}

/** Whether another scrape soon would show something that this one could not. */
export function lacksRates({ node, pods }: NodeSeries): boolean {
  if (node?.previous === undefined) return true;
  for (const pod of pods.values()) {
    for (const { previous } of pod.values()) if (previous === undefined) return true;
  }
  return false;
}
