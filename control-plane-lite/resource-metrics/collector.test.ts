import { describe, expect, test } from 'vitest';
import { createFakeClock, type FakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { type Collector, createCollector, IDLE_MS, PATIENCE_MS } from './collector.ts';
import type { Scrape } from './points.ts';
import { SOON_MS } from './scraped-node.ts';
import { PERIOD_MS, usageOf } from './series.ts';

const NEVER = new AbortController().signal;

interface Site {
  readonly clock: FakeClock;
  readonly collector: Collector;
  /** Nodes that were scraped, in order. */
  readonly scraped: string[];
  /** Takes part in what happens from now on. */
  readonly setNode: (name: string, exists: boolean) => void;
  readonly followers: () => number;
  /** Substitutes for the scrapes of a node. */
  readonly instead: Map<string, (signal: AbortSignal) => Promise<Scrape>>;
  /** Millicores. */
  readonly rate: (node: string) => number | undefined;
  /** Requests metrics, and lets the first scrapes happen. */
  readonly prepare: (...nodes: string[]) => Promise<{ readonly isDone: () => boolean }>;
}

function createSite(...nodes: readonly string[]): Site {
  const clock = createFakeClock();
  const present = new Set(nodes);
  const listeners = new Set<(name: string, exists: boolean) => void>();
  const scraped: string[] = [];
  const instead: Site['instead'] = new Map();
  /** A node that always uses half a core. */
  const sample = (): Scrape => ({
    node: { startMs: 0, atMs: clock.now(), cpuNs: 1 + clock.monotonic() * 500_000, memoryBytes: 4096 },
    pods: new Map(),
  });
  const collector = createCollector({
    clock,
    log: silentLogger,
    random: () => 1,
    followNodes(listener) {
      for (const name of present) listener(name, true);
      listeners.add(listener);
      return { close: () => listeners.delete(listener) };
    },
    scrape(node, signal) {
      scraped.push(node);
      return instead.get(node)?.(signal) ?? Promise.resolve(sample());
    },
  });
  return {
    clock,
    collector,
    scraped,
    instead,
    followers: () => listeners.size,
    setNode(name, exists) {
      if (exists) present.add(name);
      else present.delete(name);
      for (const listener of listeners) listener(name, exists);
    },
    rate(node) {
      const series = collector.seriesOf(node)?.node;
      const usage = series === undefined ? undefined : usageOf(series);
      return usage && usage.nanocores / 1e6;
    },
    async prepare(...names) {
      let done = false;
      void collector.prepare(names, NEVER).then(() => (done = true));
      await clock.advance(0);
      return { isDone: () => done };
    },
  };
}

describe('the collector', () => {
  test('scrapes nothing until a client requests metrics', async () => {
    const { clock, scraped, followers } = createSite('n1');
    await clock.advance(10 * PERIOD_MS);
    expect([scraped, followers()]).toEqual([[], 0]);
  });

  test('has rates little more than a second after the first request', async () => {
    const { clock, prepare, rate } = createSite('n1', 'n2');
    const request = await prepare('n1', 'n2');
    await clock.advance(SOON_MS - 1);
    expect(request.isDone()).toBe(false);
    await clock.advance(1);
    expect([request.isDone(), rate('n1'), rate('n2')]).toEqual([true, 500, 500]);
  });

  test('then scrapes each node regularly, and makes no request wait', async () => {
    const { clock, prepare, scraped } = createSite('n1');
    await prepare('n1');
    await clock.advance(SOON_MS + 4 * PERIOD_MS);
    expect(scraped).toHaveLength(6);
    const request = await prepare('n1');
    await clock.advance(0);
    expect(request.isDone()).toBe(true);
  });

  test('stops when no request has come for some minutes, and forgets', async () => {
    const { clock, collector, prepare, scraped, followers, rate } = createSite('n1');
    await prepare('n1');
    await clock.advance(IDLE_MS - 1);
    await prepare('n1');
    await clock.advance(IDLE_MS - 1);
    expect(rate('n1')).toBe(500);
    await clock.advance(PERIOD_MS);
    const { length } = scraped;
    await clock.advance(IDLE_MS);
    expect([scraped.length - length, followers(), collector.size]).toEqual([0, 0, 0]);
    const request = await prepare('n1');
    await clock.advance(SOON_MS);
    expect([request.isDone(), rate('n1')]).toEqual([true, 500]);
  });

  test('scrapes a node that joins, and drops one that is removed', async () => {
    const { clock, collector, prepare, rate, scraped, setNode } = createSite('n1');
    await prepare('n1');
    await clock.advance(SOON_MS);
    setNode('n2', true);
    setNode('n1', false);
    expect([collector.size, collector.seriesOf('n1')]).toEqual([1, undefined]);
    const request = await prepare('n2', 'n1');
    await clock.advance(SOON_MS);
    expect([request.isDone(), rate('n2')]).toEqual([true, 500]);
    const { length } = scraped;
    await clock.advance(2 * PERIOD_MS);
    expect(scraped.slice(length)).not.toContain('n1');
  });

  test('aborts the scrape of a node that is removed, and those in flight when it is closed', async () => {
    const { clock, collector, instead, prepare, setNode } = createSite('n1', 'n2');
    const aborted: string[] = [];
    for (const name of ['n1', 'n2']) {
      instead.set(
        name,
        (signal) =>
          new Promise((_, reject) => {
            signal.addEventListener('abort', () => {
              aborted.push(name);
              reject(new Error('aborted'));
            });
          }),
      );
    }
    const request = await prepare('n1', 'n2');
    await clock.advance(0);
    setNode('n1', false);
    expect(aborted).toEqual(['n1']);
    collector.close();
    await clock.advance(0);
    expect([aborted, request.isDone()]).toEqual([['n1', 'n2'], true]);
  });

  test('lets no request wait long for a node that does not respond', async () => {
    const { clock, instead, prepare, rate } = createSite('n1', 'n2');
    instead.set('n2', () => new Promise(() => undefined));
    const [both, one] = [await prepare('n1', 'n2'), await prepare('n1')];
    await clock.advance(SOON_MS);
    expect([both.isDone(), one.isDone()]).toEqual([false, true]);
    await clock.advance(PATIENCE_MS - SOON_MS);
    expect([both.isDone(), rate('n1'), rate('n2')]).toEqual([true, 500, undefined]);
  });

  test('lets no request wait that has ended', async () => {
    const { clock, collector, instead } = createSite('n1');
    instead.set('n1', () => new Promise(() => undefined));
    const client = new AbortController();
    let done = false;
    void collector.prepare(['n1'], client.signal).then(() => (done = true));
    await clock.advance(0);
    client.abort();
    await clock.advance(0);
    expect(done).toBe(true);
  });

  test('waits for one retry of a node that it failed to scrape, and retries it less and less often', async () => {
    const { clock, instead, prepare, rate, scraped } = createSite('n1');
    instead.set('n1', () => Promise.reject(new Error('unreachable')));
    const request = await prepare('n1');
    await clock.advance(0);
    expect(request.isDone()).toBe(false);
    await clock.advance(SOON_MS);
    expect([request.isDone(), scraped.length]).toEqual([true, 2]);
    await clock.advance(SOON_MS * (2 + 4));
    expect(scraped).toHaveLength(4);
    await clock.advance(IDLE_MS / 2);
    expect(scraped.length).toBeLessThan(10);
    instead.clear();
    await clock.advance(60_000 + SOON_MS);
    expect(rate('n1')).toBe(500);
  });

  test('has the rates of a node soon that it failed to scrape at first', async () => {
    const { clock, instead, prepare, rate } = createSite('n1');
    instead.set('n1', () => Promise.reject(new Error('unreachable')));
    await prepare('n1');
    instead.clear();
    await clock.advance(2 * SOON_MS);
    expect(rate('n1')).toBe(500);
  });

  test('shows metrics of a node for some time after it fell silent, then no more', async () => {
    const { clock, instead, prepare, rate } = createSite('n1');
    await prepare('n1');
    await clock.advance(SOON_MS);
    instead.set('n1', () => Promise.reject(new Error('unreachable')));
    await clock.advance(3 * PERIOD_MS);
    expect(rate('n1')).toBe(500);
    await clock.advance(1);
    expect(rate('n1')).toBeUndefined();
  });

  test('scrapes once more, soon, when something new is there', async () => {
    const { clock, instead, prepare, scraped } = createSite('n1');
    await prepare('n1');
    await clock.advance(SOON_MS);
    const container = { startMs: clock.now() + 1, cpuNs: 1, memoryBytes: 1 };
    instead.set('n1', () =>
      Promise.resolve({
        node: { startMs: 0, atMs: clock.now(), cpuNs: clock.now(), memoryBytes: 1 },
        // Another container at each time.
        pods: new Map([
          ['a/b', new Map([['c', { ...container, startMs: clock.now() - 1, atMs: clock.now() }]])],
        ]),
      }),
    );
    await clock.advance(PERIOD_MS);
    const { length } = scraped;
    await clock.advance(SOON_MS);
    expect(scraped.length - length).toBe(1);
    await clock.advance(PERIOD_MS - 1);
    expect(scraped.length - length).toBe(1);
  });

  test('has a bounded number of scrapes in flight', async () => {
    const names = Array.from({ length: 500 }, (_, index) => `n${index}`);
    const { clock, instead, prepare, scraped } = createSite(...names);
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    for (const name of names) {
      instead.set(name, async () => {
        await held;
        return { node: undefined, pods: new Map() };
      });
    }
    await prepare(...names);
    await clock.advance(0);
    expect(scraped).toHaveLength(64);
    release();
    await clock.advance(SOON_MS - 1);
    expect(new Set(scraped).size).toBe(500);
  });
});
