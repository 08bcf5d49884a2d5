import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { createFakeClock } from '#api/kit/clock.ts';
import type { ObservedContainer } from '../../observe/types.ts';
import { createContainerKiller, type KillDeps } from './kill-container.ts';

const container: ObservedContainer = {
  id: 'c1',
  podUID: 'u1',
  sandboxId: 's1',
  name: 'web',
  kind: 'app',
  attempt: 0,
  state: 'running',
  createdAtMs: 1,
  startedAtMs: 1,
  finishedAtMs: 0,
  exitCode: 0,
  reason: '',
  message: '',
  image: '',
  imageID: '',
  hash: '',
  fallsBackToLogs: false,
};
const pod: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'u1' },
  spec: { containers: [{ name: 'web', lifecycle: { preStop: { exec: { command: ['bye'] } } } }] },
};
const never = new AbortController().signal;

function setup(runHandler: KillDeps['runHandler']) {
  const clock = createFakeClock();
  const timeouts: (bigint | undefined)[] = [];
  const reasons: string[] = [];
  const killer = createContainerKiller({
    clock,
    runHandler,
    runtime: {
      stopContainer(request) {
        timeouts.push(request.timeout);
        return Promise.resolve({});
      },
    },
    observer: { refreshContainer: () => Promise.resolve(true) },
    event: (_pod, _type, reason) => void reasons.push(reason),
  });
  const kill = (gracePeriodSeconds: number, signal = never): Promise<void> =>
    killer.kill(
      pod,
      { kind: 'killContainer', container, reason: 'PodDeleted', message: '', gracePeriodSeconds },
      signal,
    );
  return { clock, timeouts, reasons, kill };
}

/** A handler that runs until it is aborted. */
const endless: KillDeps['runHandler'] = (_handler, _target, signal) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('ended')), { once: true });
  });

describe('kill', () => {
  test('aborts a hook at the end of the grace period and leaves the container its minimum grace', async () => {
    const { clock, timeouts, reasons, kill } = setup(endless);
    const done = kill(30);
    await clock.advance(29_999);
    expect(timeouts).toEqual([]);
    await clock.advance(1);
    await done;
    expect(timeouts).toEqual([2n]);
    expect(reasons).toEqual(['Killing', 'FailedPreStopHook']);
  });

  test.each([2_147_484, 4_294_968, Number.MAX_SAFE_INTEGER])('limits a hook to %d s', async (seconds) => {
    const { clock, timeouts, kill } = setup(endless);
    const stop = new AbortController();
    const done = kill(seconds, stop.signal);
    await clock.advance(2 ** 31 - 1);
    expect(timeouts).toEqual([]);
    stop.abort(new Error('hurry'));
    await expect(done).rejects.toThrow('hurry');
  });

  test('leaves no timer after a hook has completed', async () => {
    const { clock, timeouts, reasons, kill } = setup(() => Promise.resolve());
    await kill(Number.MAX_SAFE_INTEGER);
    await clock.advance(2 ** 40);
    expect(timeouts).toEqual([2_147_483_647n]);
    expect(reasons).toEqual(['Killing']);
  });
});
