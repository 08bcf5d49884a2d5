import { describe, expect, test } from 'vitest';
import { createFakeClock, type FakeClock } from '#api/kit/clock.ts';
import { type CompactorOptions, createCompactor } from './compactor.ts';

const MINUTE = 60_000;

interface Setup {
  readonly clock: FakeClock;
  readonly store: { revision: number; failing: boolean };
  readonly compacted: number[];
  readonly errors: Error[];
  readonly end: () => Promise<void>;
}

function start(options?: CompactorOptions): Setup {
  const clock = createFakeClock();
  const store = { revision: 10, failing: false };
  const compacted: number[] = [];
  const errors: Error[] = [];
  const compactor = createCompactor(
    {
      currentRevision: () => Promise.resolve(store.revision),
      compact(revision) {
        if (store.failing) return Promise.reject(new Error('away'));
        compacted.push(revision);
        return Promise.resolve();
      },
      clock,
      onError: (error) => errors.push(error),
    },
    options,
  );
  const stop = new AbortController();
  const done = compactor.run(stop.signal);
  const end = (): Promise<void> => {
    stop.abort();
    return done;
  };
  return { clock, store, compacted, errors, end };
}

async function passMinutes({ clock, store }: Setup, minutes: number): Promise<void> {
  for (let i = 0; i < minutes; i += 1) {
    await clock.advance(MINUTE);
    store.revision += 10;
  }
}

describe('createCompactor', () => {
  test('leaves the first five minutes alone', async () => {
    const setup = start();
    await passMinutes(setup, 4);
    expect(setup.compacted).toEqual([]);
    await setup.end();
  });

  test('compacts each minute to the newest revision of five minutes ago', async () => {
    const setup = start();
    await passMinutes(setup, 8);
    expect(setup.compacted).toEqual([10, 20, 30]);
    await setup.end();
  });

  test('sends no request without writes', async () => {
    const setup = start();
    for (let i = 0; i < 20; i += 1) await setup.clock.advance(MINUTE);
    expect(setup.compacted).toEqual([10]);
    await setup.end();
  });

  test('retains history for the configured time', async () => {
    const setup = start({ keepMs: 2 * MINUTE, intervalMs: MINUTE });
    await passMinutes(setup, 4);
    expect(setup.compacted).toEqual([10, 20]);
    await setup.end();
  });

  test('makes up for a round that failed', async () => {
    const setup = start();
    setup.store.failing = true;
    await passMinutes(setup, 7);
    expect(setup.errors.map(({ message }) => message)).toEqual(['away', 'away', 'away']);
    expect(setup.compacted).toEqual([]);
    setup.store.failing = false;
    await passMinutes(setup, 1);
    expect(setup.compacted).toHaveLength(1);
    await setup.end();
  });

  test('ends with its signal', async () => {
    const setup = start();
    await setup.clock.advance(0);
    await setup.end();
    await setup.clock.advance(60 * MINUTE);
    expect(setup.compacted).toEqual([]);
  });
});
