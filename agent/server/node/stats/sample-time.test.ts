import { expect, test } from 'vitest';
import { sampleTime, withWholeSeconds } from './sample-time.ts';

const EXACT = '2026-05-04T03:02:01.123Z';
const WHOLE = '2026-05-04T03:02:01Z';

test('a sample has its time to the millisecond', () => {
  expect(sampleTime(Date.parse(EXACT))).toBe(EXACT);
  expect(sampleTime(Date.parse(WHOLE) + 0.75)).toBe(WHOLE);
});

test('a summary has its times in whole seconds, and everything else as it is', () => {
  const summary = (time: string): object => ({
    node: { startTime: time, cpu: { time, usageNanoCores: 1.5 }, runtime: { imageFs: undefined } },
    pods: [{ podRef: { name: EXACT }, containers: [{ name: 'time', startTime: time, memory: { time } }] }],
  });
  expect(withWholeSeconds(summary(EXACT))).toEqual(summary(WHOLE));
  expect(withWholeSeconds(summary(WHOLE))).toEqual(summary(WHOLE));
});
