import { describe, expect, test } from 'vitest';
import type { Point, Scrape } from './points.ts';
import { followScrape, lacksRates, NOTHING, type NodeSeries, podUsage, usageOf } from './series.ts';

const BEGIN_MS = 1_700_000_000_000;
const OLD_MS = BEGIN_MS - 3_600_000;

/** At so many seconds with so many seconds of CPU time used. */
const point = (second: number, cpu: number, startMs = OLD_MS): Point => ({
  startMs,
  atMs: BEGIN_MS + second * 1000,
  cpuNs: cpu * 1e9,
  memoryBytes: 1024 + second,
});

const scrape = (containers: Readonly<Record<string, Point>>, node?: Point): Scrape => ({
  node,
  pods:
    Object.keys(containers).length === 0
      ? new Map()
      : new Map([['n/p', new Map(Object.entries(containers))]]),
});

const after = (...scrapes: readonly Scrape[]): NodeSeries =>
  scrapes.reduce((known, next) => followScrape(next, known), NOTHING);

/** Millicores and the window of the only container, `a`. */
function rate(...points: readonly Point[]): readonly (number | undefined)[] {
  const pod = after(...points.map((a) => scrape({ a }))).pods.get('n/p');
  const usage = pod === undefined ? undefined : podUsage(pod)?.get('a');
  return [usage && usage.nanocores / 1e6, usage?.windowMs];
}

describe('the rate of a container', () => {
  test('is the CPU time between two scrapes', () => {
    expect(rate(point(0, 10), point(15, 13))).toEqual([200, 15_000]);
    expect(rate(point(0, 10), point(15, 13), point(30, 28))).toEqual([1000, 15_000]);
  });

  test('is unknown after one scrape', () => {
    expect(rate(point(0, 10))).toEqual([undefined, undefined]);
  });

  test('stays what it was while the node has no newer sample', () => {
    expect(rate(point(0, 10), point(15, 13), point(15, 13))).toEqual([200, 15_000]);
    expect(rate(point(0, 10), point(0, 10))).toEqual([undefined, undefined]);
  });

  test('is unknown when the clock of the node went back behind both samples', () => {
    expect(rate(point(0, 10), point(15, 13), point(-1, 13))).toEqual([undefined, undefined]);
  });

  test('is unknown after the counter went back', () => {
    expect(rate(point(0, 10), point(15, 3))).toEqual([undefined, undefined]);
  });

  test('begins anew with the container', () => {
    const restarted = BEGIN_MS + 14_000;
    expect(rate(point(0, 10), point(15, 0.5, restarted))).toEqual([undefined, undefined]);
    expect(rate(point(0, 10), point(15, 0.5, restarted), point(30, 2, restarted))).toEqual([100, 15_000]);
  });

  test('is counted from the start of a container that is neither old nor too young', () => {
    expect(rate(point(12, 6, BEGIN_MS))).toEqual([500, 12_000]);
    expect(rate(point(9, 6, BEGIN_MS))).toEqual([undefined, undefined]);
    expect(rate(point(15, 6, BEGIN_MS))).toEqual([undefined, undefined]);
  });

  test('has no short window because a scrape came early', () => {
    expect(rate(point(0, 0), point(15, 3), point(16, 4))).toEqual([250, 16_000]);
    expect(rate(point(0, 0), point(15, 3), point(16, 4), point(31, 7))).toEqual([200, 15_000]);
  });

  test('has no window without end because all scrapes come early', () => {
    const every2s = Array.from({ length: 40 }, (_, index) => point(index * 2, index));
    const [, windowMs = 0] = rate(...every2s);
    expect(windowMs).toBeLessThanOrEqual(30_000);
  });
});

describe('a pod', () => {
  const usagesOf = (...scrapes: readonly Scrape[]): readonly string[] | undefined => {
    const pod = after(...scrapes).pods.get('n/p');
    const usages = pod === undefined ? undefined : podUsage(pod);
    return usages === undefined ? undefined : [...usages.keys()];
  };

  test('has no usage while a container has none yet', () => {
    const first = scrape({ a: point(0, 1) });
    expect(usagesOf(first, scrape({ a: point(15, 2), b: point(15, 1) }))).toBeUndefined();
  });

  test('has no container whose counter went back', () => {
    const first = scrape({ a: point(0, 1), b: point(0, 5) });
    expect(usagesOf(first, scrape({ a: point(15, 2), b: point(15, 1) }))).toEqual(['a']);
  });

  test('is forgotten once the node does not report it', () => {
    const both = [scrape({ a: point(0, 1) }), scrape({ a: point(15, 2) })];
    expect(after(...both, scrape({})).pods.size).toBe(0);
    expect(usagesOf(...both, scrape({}), scrape({ a: point(45, 3) }))).toBeUndefined();
  });
});

describe('a node', () => {
  const node = (second: number, cpu: number): Scrape => scrape({}, point(second, cpu, 0));

  test('has its rate and its memory', () => {
    const { node: series } = after(node(0, 100), node(10, 115));
    expect(series && usageOf(series)).toEqual({
      nanocores: 1_500_000_000,
      memoryBytes: 1034,
      atMs: BEGIN_MS + 10_000,
      windowMs: 10_000,
    });
  });

  test('lacks rates until all that it reports has been reported twice', () => {
    const report = (second: number, ...names: readonly string[]): Scrape => {
      const used = point(second, 1 + second);
      return scrape(Object.fromEntries(names.map((name) => [name, used])), point(second, 1, 0));
    };
    expect(lacksRates(NOTHING)).toBe(true);
    expect(lacksRates(after(report(0, 'a')))).toBe(true);
    expect(lacksRates(after(report(0, 'a'), report(15, 'a')))).toBe(false);
    expect(lacksRates(after(report(0, 'a'), report(15, 'a', 'b')))).toBe(true);
    expect(lacksRates(after(report(0, 'a'), report(15)))).toBe(false);
  });
});
