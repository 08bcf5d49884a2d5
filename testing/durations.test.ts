import { expect, test } from 'vitest';
import { type Duration, formatDurations, parseDurations, slowestSince } from './durations.ts';

const of = (file: string, ms: number, endedMs: number): Duration => ({ project: 'unit', file, ms, endedMs });

test('durations are read as they were written, and damaged lines are ignored', () => {
  const durations = [of('a.test.ts', 12, 5), of('b c.test.ts', 0, 6)];
  const text = formatDurations(durations);
  expect(parseDurations(`${text}\nunit\tx\nunit\ty\tz\t1\n${text.slice(0, 18)}`)).toEqual(durations);
});

test('the slowest files are those of the run', () => {
  const durations = [of('before', 900, 99), of('fast', 1, 100), of('slow', 50, 101), of('slower', 60, 102)];
  expect(slowestSince(durations, 100, 2).map(({ file }) => file)).toEqual(['slower', 'slow']);
});
