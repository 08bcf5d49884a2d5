import { describe, expect, test } from 'vitest';
import { parseVerbCounts, verbTimes } from './verb-times.ts';

const sample = (verb: string, le: string, count: number): string =>
  `apiserver_request_duration_seconds_bucket{verb="${verb}",dry_run="",resource="pods",le="${le}"} ${count}`;

const text = (verb: string, counts: readonly [number, number, number]): string =>
  [sample(verb, '0.1', counts[0]), sample(verb, '0.5', counts[1]), sample(verb, '+Inf', counts[2])].join(
    '\n',
  );

describe('times of verbs', () => {
  test('cover the requests between two reads, interpolated within a bucket', () => {
    const before = parseVerbCounts(text('GET', [10, 10, 10]));
    const after = parseVerbCounts(`# HELP\n${text('GET', [110, 110, 110])}\n${text('POST', [0, 50, 50])}\n`);
    const times = verbTimes(before, after);
    expect(times.map(({ verb, count }) => [verb, count])).toEqual([
      ['GET', 100],
      ['POST', 50],
    ]);
    expect(times[0]?.p50Ms).toBeCloseTo(50);
    expect(times[0]?.p99Ms).toBeCloseTo(99);
    expect(times[1]?.p50Ms).toBeCloseTo(300);
  });

  test('are at least the last bound for longer requests', () => {
    const [slow] = verbTimes(new Map(), parseVerbCounts(text('PUT', [0, 1, 2])));
    expect(slow?.p99Ms).toBeCloseTo(500);
  });

  test('omit watches, whose duration depends on the client', () => {
    expect(parseVerbCounts(text('WATCH', [1, 1, 1])).size).toBe(0);
  });

  test('add up the series of a verb', () => {
    const other = text('GET', [1, 1, 1]).replaceAll('pods', 'nodes');
    const [both] = verbTimes(new Map(), parseVerbCounts(`${text('GET', [1, 1, 1])}\n${other}`));
    expect(both?.count).toBe(2);
  });
});
