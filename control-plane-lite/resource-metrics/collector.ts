/** Scrapes nodes while clients request their metrics: from the first request on, until no request has come for some
 *  minutes. A cluster without requests for metrics costs nothing. */
import { sleep, type Timer } from '#api/kit/clock.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import { createScrapedNode, type ScrapedNode, type ScrapedNodeDeps } from './scraped-node.ts';
import type { NodeSeries } from './series.ts';

export interface CollectorDeps extends Omit<ScrapedNodeDeps, 'limiter'> {
  /** Reports the names of all nodes at once, and then of every node that is added, changed or removed. */
  readonly followNodes: (listener: (name: string, exists: boolean) => void) => { close(): void };
}

export interface Collector {
  /** Resolves once these nodes have been scraped until they have rates, or that has failed, or took too long. */
  prepare(nodes: Iterable<string>, signal: AbortSignal): Promise<void>;
  /** `undefined`: not scraped of late. */
  seriesOf(node: string): NodeSeries | undefined;
  /** Nodes that are scraped at present. */
  readonly size: number;
  close(): void;
}

/** Longest wait of a request. */
export const PATIENCE_MS: number = 5000;
/** Without a request. */
export const IDLE_MS: number = 5 * 60_000;
/** Scrapes in flight. */
const MOST_SCRAPES = 64;

export function createCollector({ followNodes, ...rest }: CollectorDeps): Collector {
  const { clock } = rest;
  const deps: ScrapedNodeDeps = { ...rest, limiter: createLimiter(MOST_SCRAPES) };
  const nodes = new Map<string, ScrapedNode>();
  let requestedAt = 0;
  let following: { close(): void } | undefined;
  let idle: Timer | undefined;

  function stop(): void {
    following?.close();
    following = undefined;
    idle?.cancel();
    for (const node of nodes.values()) node.close();
    nodes.clear();
  }

  function stopWhenIdle(): void {
    const leftMs = requestedAt + IDLE_MS - clock.monotonic();
    if (leftMs <= 0) stop();
    else idle = clock.setTimer(stopWhenIdle, leftMs);
  }

  function start(): void {
    following = followNodes((name, exists) => {
      const node = nodes.get(name);
      if (exists && node === undefined) nodes.set(name, createScrapedNode(name, deps));
      if (exists || node === undefined) return;
      node.close();
      nodes.delete(name);
    });
    stopWhenIdle();
  }

  return {
    async prepare(names, signal) {
      requestedAt = clock.monotonic();
      if (following === undefined) start();
      const waits = [...names].flatMap((name) => {
        const node = nodes.get(name);
        return node === undefined || node.isSettled() ? [] : [node.settled];
      });
      if (waits.length === 0) return;
      const enough = new AbortController();
      const late = sleep(clock, PATIENCE_MS, AbortSignal.any([signal, enough.signal]));
      await Promise.race([Promise.all(waits), late.catch(() => undefined)]);
      enough.abort();
    },
    seriesOf: (name) => nodes.get(name)?.series(),
    get size() {
      return nodes.size;
    },
    close: stop,
  };
}
