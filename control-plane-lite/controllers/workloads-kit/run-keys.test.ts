import { expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { createKeyQueue } from './run-keys.ts';

test('many changes are coalesced into one run, which waits for the announced write', async () => {
  const clock = createFakeClock();
  const stop = new AbortController();
  const seen: string[] = [];
  const caughtUp = Promise.withResolvers<void>();
  const cache = { waitForNewest: () => caughtUp.promise };
  const queue = createKeyQueue({ cache, clock, log: silentLogger }, (key) => {
    seen.push(key);
    return Promise.resolve(undefined);
  });
  const running = queue.run(stop.signal);
  for (let change = 0; change < 100; change += 1) queue.addSoon('a');
  queue.add('b');
  await clock.advance(9);
  expect(seen).toEqual(['b']);
  await clock.advance(1);
  expect(seen).toEqual(['b', 'a']);
  queue.expect('a');
  queue.add('a');
  await clock.advance(100);
  expect(seen).toEqual(['b', 'a']);
  caughtUp.resolve();
  await clock.advance(0);
  expect(seen).toEqual(['b', 'a', 'a']);
  stop.abort();
  await running;
});

test('failures are retried and logged, except rejections by a terminating namespace', async () => {
  const clock = createFakeClock();
  const stop = new AbortController();
  const seen: string[] = [];
  const logged: unknown[] = [];
  const log = { ...silentLogger, warn: (fields: object) => void logged.push(fields) };
  const ending = { reason: 'NamespaceTerminating', message: 'it is being terminated', field: '' };
  const queue = createKeyQueue({ cache: { waitForNewest: () => Promise.resolve() }, clock, log }, (key) => {
    seen.push(key);
    return Promise.reject(new StatusError('Forbidden', key, key === 'ending' ? { causes: [ending] } : {}));
  });
  const running = queue.run(stop.signal);
  queue.add('ending');
  queue.add('other');
  await clock.advance(0);
  await clock.advance(100);
  expect(seen).toEqual(['ending', 'other', 'other']);
  expect(logged).toMatchObject([{ key: 'other' }, { key: 'other' }]);
  stop.abort();
  await running;
});
