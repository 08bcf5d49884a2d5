import { describe, expect, test } from 'vitest';
import { createFakeClock, type FakeClock } from '#api/kit/clock.ts';
import { answersInOrder, createProgress, type Progress } from './progress.ts';

interface Setup {
  readonly clock: FakeClock;
  readonly progress: Progress;
  readonly requests: () => number;
  readonly given: number[];
}

function setUp(): Setup {
  const clock = createFakeClock();
  const given: number[] = [];
  let requests = 0;
  const progress = createProgress({
    clock,
    request() {
      requests += 1;
    },
    onProgress: (revision) => given.push(revision),
  });
  return { clock, progress, requests: () => requests, given };
}

describe('createProgress', () => {
  test('uses the first response of a server that responds in order', () => {
    const { progress, requests, given } = setUp();
    progress.request();
    expect(requests()).toBe(0);
    progress.begin(true);
    expect(requests()).toBe(1);
    progress.onResponse(7);
    progress.onResponse(8);
    expect([requests(), given]).toEqual([1, [7]]);
  });

  test('waits until the watch has caught up with another server, and has it confirm its response', async () => {
    const { clock, progress, requests, given } = setUp();
    progress.begin(false);
    progress.request();
    await clock.advance(499);
    expect(requests()).toBe(0);
    await clock.advance(1);
    expect(requests()).toBe(1);
    progress.onResponse(7);
    expect([requests(), given]).toEqual([2, []]);
    progress.onResponse(9);
    expect([requests(), given]).toEqual([2, [7]]);
  });

  test('need not wait where the watch is known to have caught up', () => {
    const { progress, requests } = setUp();
    progress.begin(false);
    progress.request();
    progress.caughtUp();
    expect(requests()).toBe(1);
  });

  test('sends another request for later callers', () => {
    const { progress, requests, given } = setUp();
    progress.begin(true);
    progress.request();
    progress.request();
    progress.request();
    expect(requests()).toBe(1);
    progress.onResponse(7);
    expect([requests(), given]).toEqual([2, [7]]);
    progress.onResponse(8);
    expect([requests(), given]).toEqual([2, [7, 8]]);
  });

  test('repeats a request without a response', async () => {
    const { clock, progress, requests, given } = setUp();
    progress.begin(true);
    progress.request();
    await clock.advance(1000);
    expect(requests()).toBe(3);
    progress.onResponse(7);
    await clock.advance(5000);
    expect([requests(), given]).toEqual([3, [7]]);
  });

  test('sends the pending requests of the last server to the next, and no others', async () => {
    const { clock, progress, requests, given } = setUp();
    progress.begin(true);
    progress.request();
    progress.pause();
    await clock.advance(5000);
    progress.onResponse(6);
    expect([requests(), given]).toEqual([1, []]);
    progress.begin(true);
    progress.onResponse(7);
    progress.pause();
    progress.begin(true);
    expect([requests(), given]).toEqual([2, [7]]);
  });
});

describe('answersInOrder', () => {
  test.each([
    ['3.4.23', false],
    ['3.4.25', true],
    ['3.5.7', false],
    ['3.5.8', true],
    ['3.5.13-rc.1', true],
    ['3.3.30', false],
    ['3.6.0', true],
    ['4.0.0', true],
    ['', false],
    ['unknown', false],
  ])('%s: %s', (version, expected) => {
    expect(answersInOrder(version)).toBe(expected);
  });
});
