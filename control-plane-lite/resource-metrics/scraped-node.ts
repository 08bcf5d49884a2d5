/** Scrapes one node until it is closed: twice at once, as rates need two samples, then regularly, and less and less
 *  often while that fails. */
import type { Clock, Timer } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Limiter } from '#api/kit/limiter.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Scrape } from './points.ts';
import { followScrape, lacksRates, NOTHING, type NodeSeries, PERIOD_MS } from './series.ts';

export interface ScrapedNodeDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** @throws Error */
  readonly scrape: (node: string, signal: AbortSignal) => Promise<Scrape>;
  /** From 0 to below 1. */
  readonly random: () => number;
  /** Bounds the scrapes in flight. */
  readonly limiter: Limiter;
}

export interface ScrapedNode {
  /** Pending until the node has rates, or cannot have them soon. */
  readonly settled: Promise<void>;
  readonly isSettled: () => boolean;
  /** `undefined`: not scraped of late. */
  readonly series: () => NodeSeries | undefined;
  readonly close: () => void;
}

/** Between two scrapes of a node that lacks rates; agents give out the same samples for a second. */
export const SOON_MS: number = 1200;
/** Scrapes of a new node, one soon after the other: some agents sample more seldom than others. */
const FIRST_SCRAPES = 3;
/** Metrics older than this are not shown. */
const STALE_MS = 3 * PERIOD_MS;
const LONGEST_BACKOFF_MS = 4 * PERIOD_MS;

interface State {
  series: NodeSeries;
  receivedAt: number;
  isSettled: boolean;
  /** Successful ones. */
  scrapes: number;
  /** In a row. */
  failures: number;
  /** The last scrape came early, to complete what the one before it lacked. */
  wasEarly: boolean;
}

export function createScrapedNode(name: string, deps: ScrapedNodeDeps): ScrapedNode {
  const { clock, log, scrape, random, limiter } = deps;
  const stop = new AbortController();
  const { signal } = stop;
  const settled = Promise.withResolvers<void>();
  let timer: Timer | undefined;
  const state: State = {
    series: NOTHING,
    receivedAt: Number.NEGATIVE_INFINITY,
    isSettled: false,
    scrapes: 0,
    failures: 0,
    wasEarly: false,
  };

  function settle(): void {
    state.isSettled = true;
    settled.resolve();
  }

  /** Returns the time to the next scrape. */
  function succeeded(scraped: Scrape): number {
    state.series = followScrape(scraped, state.series);
    state.receivedAt = clock.monotonic();
    state.failures = 0;
    state.scrapes += 1;
    const isLacking = lacksRates(state.series);
    if (!state.isSettled) {
      if (isLacking && state.scrapes < FIRST_SCRAPES) return SOON_MS;
      settle();
      // Spreads the nodes over the period, which all began at the same time.
      return PERIOD_MS * (0.4 + 0.6 * random());
    }
    state.wasEarly = !state.wasEarly && isLacking;
    return state.wasEarly ? SOON_MS : PERIOD_MS;
  }

  function failed(thrown: unknown): number {
    const fields = { node: name, err: asError(thrown) };
    if (state.failures === 0) log.warn(fields, 'Failed to scrape resource metrics of node');
    else log.debug(fields, 'Failed to scrape resource metrics of node again');
    state.failures += 1;
    // A node that has just joined may get its certificate in a moment. One retry takes no longer than the two scrapes of
    // other nodes.
    if (state.failures > 1) settle();
    return Math.min(SOON_MS * 2 ** (state.failures - 1), LONGEST_BACKOFF_MS);
  }

  async function look(): Promise<void> {
    let delayMs: number;
    try {
      const scraped = await limiter.run(() => scrape(name, signal), signal);
      if (signal.aborted) return;
      delayMs = succeeded(scraped);
    } catch (thrown) {
      if (signal.aborted) return;
      delayMs = failed(thrown);
    }
    timer = clock.setTimer(() => void look(), delayMs);
  }

  void look();
  return {
    settled: settled.promise,
    isSettled: () => state.isSettled,
    series: () => (clock.monotonic() - state.receivedAt <= STALE_MS ? state.series : undefined),
    close() {
      timer?.cancel();
      stop.abort(new Error('the node is no longer scraped'));
      settle();
    },
  };
}
