import { array, assert, constantFrom, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  afterOutcome,
  firstProbeDelayMs,
  initialState,
  nextProbeAtMs,
  type ProbeKind,
  type ProbeOutcome,
  probeTiming,
  verdictOf,
} from './probe-state.ts';

const TIMING = { successThreshold: 2, failureThreshold: 3 };

const run = (kind: ProbeKind, outcomes: string) => {
  const words: Record<string, ProbeOutcome> = { s: 'success', w: 'warning', f: 'failure', u: 'unknown' };
  return outcomes
    .split('')
    .reduce(
      (state, letter) => afterOutcome(kind, state, words[letter] ?? 'unknown', TIMING),
      initialState(kind),
    );
};

describe('afterOutcome', () => {
  test.each<[ProbeKind, string, string, boolean]>([
    ['liveness', '', 'success', false],
    ['liveness', 'ff', 'success', false],
    ['liveness', 'fff', 'failure', true],
    ['liveness', 'ffsff', 'success', false],
    ['liveness', 'ffuf', 'failure', true],
    ['liveness', 'fffss', 'failure', true],
    ['readiness', '', 'failure', false],
    ['readiness', 's', 'failure', false],
    ['readiness', 'ss', 'success', false],
    ['readiness', 'sw', 'success', false],
    ['readiness', 'ssff', 'success', false],
    ['readiness', 'ssfff', 'failure', false],
    ['readiness', 'ssfffss', 'success', false],
    ['startup', '', 'unknown', false],
    ['startup', 'ff', 'unknown', false],
    ['startup', 'fff', 'failure', true],
    ['startup', 'ffss', 'success', true],
    ['startup', 'ssfff', 'success', true],
    ['startup', 'uuuu', 'unknown', false],
  ])('%s after %j is %s, done: %s', (kind, outcomes, result, done) => {
    expect(run(kind, outcomes)).toMatchObject({ result, done });
  });

  test('a streak shorter than its threshold never changes the result', () => {
    const outcome = constantFrom('s', 'f', 'u');
    assert(
      property(array(outcome), (outcomes) => {
        const counted = outcomes.filter((letter) => letter !== 'u').join('');
        const expected = /fff/.test(counted) ? 'failure' : 'success';
        expect(run('liveness', outcomes.join('')).result).toBe(expected);
      }),
    );
  });
});

test('initialState retains the result of an earlier run', () => {
  const previous = { started: true, ready: true };
  expect(initialState('startup', previous)).toMatchObject({ result: 'success', done: true });
  expect(initialState('readiness', previous)).toMatchObject({ result: 'success', done: false });
});

test('verdictOf needs the startup probe before readiness', () => {
  const startup = initialState('startup');
  const readiness = initialState('readiness', { started: true, ready: true });
  expect(verdictOf({})).toEqual({ started: true, ready: true });
  expect(verdictOf({ startup, readiness })).toEqual({ started: false, ready: false });
  expect(verdictOf({ readiness })).toEqual({ started: true, ready: true });
  expect(verdictOf({ startup })).toEqual({ started: false, ready: false });
});

test('probeTiming fills in defaults', () => {
  const byDefault = {
    initialDelayMs: 0,
    periodMs: 10_000,
    timeoutMs: 1000,
    successThreshold: 1,
    failureThreshold: 3,
  };
  expect(probeTiming({})).toEqual(byDefault);
  expect(probeTiming({ periodSeconds: 0, failureThreshold: -1, initialDelaySeconds: 2 })).toEqual({
    ...byDefault,
    initialDelayMs: 2000,
  });
});

test.each([
  ['the whole delay for a new container', 1000, 1000, 500, 0, 500],
  ['the rest of the delay', 1000, 1300, 500, 0, 200],
  ['nothing when the delay has passed', 1000, 9000, 500, 0, 0],
  ['the jitter', 1000, 9000, 500, 70, 70],
  ['no more than the delay when the clock was set back', 9000, 1000, 500, 0, 500],
])('firstProbeDelayMs is %s', (_, startedAtMs, nowMs, initialDelayMs, jitterMs, expected) => {
  expect(firstProbeDelayMs({ startedAtMs, nowMs, initialDelayMs, jitterMs })).toBe(expected);
});

test.each([
  ['one period after the last was due', 100, 103, 10, 110],
  ['at once after a slow probe', 100, 112, 10, 110],
  ['now after a long sleep', 100, 500, 10, 500],
])('nextProbeAtMs is %s', (_, dueMs, nowMs, periodMs, expected) => {
  expect(nextProbeAtMs(dueMs, nowMs, periodMs)).toBe(expected);
});
