import { describe, expect, test } from 'vitest';
import { createBackoff } from '#api/kit/backoff.ts';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createSealed } from '../state/sealed.ts';
import { createFeed, type FeedDeps } from './feed.ts';

/** A store whose revisions rise only with writes, and which never reports the progress of its watches. */
function storeOfSteps(revisionStep: number, newest: number): FeedDeps['store'] {
  return {
    revisionStep,
    currentRevision: () => Promise.resolve(newest),
    get: () => Promise.resolve(undefined),
    range: (_, { revision = newest } = {}) => Promise.resolve({ revision, items: [], more: false }),
    watch: () => ({ requestProgress: () => undefined, close: () => undefined }),
  };
}

/** Returns the revision of the initially loaded state, with a feed that replays ten writes. */
async function firstLoaded(revisionStep: number, newest: number): Promise<number> {
  const clock = createFakeClock();
  const backoff = createBackoff({ initialMs: 50, maxMs: 50, jitter: 0 });
  const loaded = Promise.withResolvers<number>();
  let revision = 0;
  const feed = createFeed(
    { store: storeOfSteps(revisionStep, newest), clock, log: silentLogger, backoff },
    { prefix: '/', replayWrites: 10 },
    {
      begin: () => ({
        add: () => undefined,
        finish(to) {
          revision = to;
          loaded.resolve(to);
        },
      }),
      onEvents: () => undefined,
      onProgress: () => undefined,
      revision: () => revision,
      reached: () => Promise.resolve(),
      onSynced: () => undefined,
      sealed: createSealed(),
      unseal: () => undefined,
    },
  );
  const stop = new AbortController();
  const running = feed.run(stop.signal);
  const first = await loaded.promise;
  stop.abort();
  await running;
  return first;
}

describe('the first state', () => {
  test.each([
    { step: 1, newest: 100, first: 90, what: 'some writes ago' },
    { step: 64, newest: 6400, first: 5760, what: 'some writes ago, where each has several revisions' },
    { step: 1, newest: 5, first: 1, what: 'the oldest that there is' },
    { step: 64, newest: 320, first: 64, what: 'the oldest that there is, where there is none of before' },
    { step: 64, newest: 64, first: 64, what: 'the only one, with nothing left to wait for' },
  ])('is $what', async ({ step, newest, first }) => {
    expect(await firstLoaded(step, newest)).toBe(first);
  });
});
