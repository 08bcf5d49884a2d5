import { expect, test } from 'vitest';
import { type Duration, failedSince, formatDurations, parseDurations, slowestSince } from './durations.ts';

const of = (file: string, ms: number, endedMs: number, hasFailed = false): Duration => ({
  project: 'unit',
  file,
  ms,
  endedMs,
  hasFailed,
});

test('durations are read as they were written, and damaged lines are ignored', () => {
  const durations = [of('a.test.ts', 12, 5), of('b c.test.ts', 0, 6, true)];
  const text = formatDurations(durations);
  expect(parseDurations(`${text}\nunit\tx\nunit\ty\tz\t1\n${text.slice(0, 18)}`)).toEqual(durations);
});

test('the slowest files are those of the run', () => {
  const durations = [of('before', 900, 99), of('fast', 1, 100), of('slow', 50, 101), of('slower', 60, 102)];
  expect(slowestSince(durations, 100, 2).map(({ file }) => file)).toEqual(['slower', 'slow']);
});

test('the failed files are those of the project and the run', () => {
  const other = { ...of('other', 1, 100, true), project: 'node' };
  const durations = [
    of('before', 1, 99, true),
    of('passed', 1, 100),
    of('z', 1, 100, true),
    other,
    of('a', 1, 101, true),
  ];
  expect(failedSince(durations, 'unit', 100)).toEqual(['a', 'z']);
});
