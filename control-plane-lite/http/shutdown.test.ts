import { describe, expect, test } from 'vitest';
import { createFakeClock, type FakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { type ShutdownDeps, shutDown } from './shutdown.ts';

function record(clock: FakeClock): { readonly steps: string[]; readonly deps: ShutdownDeps } {
  const steps: string[] = [];
  const note = (step: string): void => void steps.push(`${step} at ${clock.monotonic()}`);
  return {
    steps,
    deps: {
      clock,
      log: silentLogger,
      beginShutdown: () => note('unready'),
      close: ({ drainMs, hurry }) =>
        Promise.resolve(note(hurry?.aborted === true ? 'close at once' : `close within ${drainMs}`)),
    },
  };
}

describe('shutDown', () => {
  test('fails readiness first, and closes after the delay', async () => {
    const clock = createFakeClock();
    const { steps, deps } = record(clock);
    const ended = shutDown(deps, { delayMs: 5000, drainMs: 100 });
    expect(steps).toEqual(['unready at 0']);
    await clock.advance(5000);
    await ended;
    expect(steps).toEqual(['unready at 0', 'close within 100 at 5000']);
  });

  test('cuts the delay and the wait short in a hurry', async () => {
    const clock = createFakeClock();
    const { steps, deps } = record(clock);
    const hurry = new AbortController();
    const ended = shutDown(deps, { delayMs: 5000 }, hurry.signal);
    hurry.abort();
    await ended;
    expect(steps).toEqual(['unready at 0', 'close at once at 0']);
  });
});
