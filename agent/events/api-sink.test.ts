import { describe, expect, test } from 'vitest';
import type { Event } from '#api/gen/core-v1.ts';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { ApiRequestError, ServerUnreachableError } from '../api-client/errors.ts';
import { createServerContact } from '../api-client/server-contact.ts';
import { createApiEventSink } from './api-sink.ts';

const failure = (status: number) => new ApiRequestError({ status, reason: 'R', message: `${status}` });
const event = (name: string, count = 1): Event => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name, namespace: 'default' },
  involvedObject: { kind: 'Pod', name: 'p' },
  message: `m${count}`,
  lastTimestamp: 't',
  count,
});

function setUp(options = { qps: 0, burst: 10 }) {
  const clock = createFakeClock();
  /** `create a 1`, `patch a 2`. */
  const calls: string[] = [];
  const errors: Error[] = [];
  const respond = (call: string) => {
    calls.push(call);
    const error = errors.shift();
    return error === undefined ? Promise.resolve({}) : Promise.reject(error);
  };
  const sink = createApiEventSink(
    {
      client: {
        create: (_, object) => {
          const { metadata, count } = object as unknown as Event;
          return respond(`create ${metadata.name} ${count}`);
        },
        patch: ({ name }, { content }) => respond(`patch ${name} ${(content as Event).count}`),
      },
      clock,
      contact: createServerContact({ clock, log: silentLogger }),
      log: silentLogger,
    },
    options,
  );
  const stop = new AbortController();
  const running = sink.run(stop.signal);
  return {
    sink,
    clock,
    calls,
    errors,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

describe('createApiEventSink', () => {
  test('creates an event once, and patches its repeats', async () => {
    await using world = setUp();
    world.sink.take(event('a'));
    await world.clock.advance(0);
    world.sink.take(event('a', 2));
    world.sink.take(event('b'));
    await world.clock.advance(0);
    expect(world.calls).toEqual(['create a 1', 'patch a 2', 'create b 1']);
  });

  test('sends the latest version of a queued event', async () => {
    await using world = setUp();
    for (let count = 1; count <= 5; count += 1) world.sink.take(event('a', count));
    await world.clock.advance(0);
    expect(world.calls).toEqual(['create a 5']);
  });

  test('recreates expired events, and patches existing ones', async () => {
    await using world = setUp();
    world.sink.take(event('a'));
    await world.clock.advance(0);
    world.errors.push(failure(404));
    world.sink.take(event('a', 2));
    await world.clock.advance(0);
    world.errors.push(failure(409));
    world.sink.take(event('b', 3));
    await world.clock.advance(0);
    expect(world.calls).toEqual(['create a 1', 'patch a 2', 'create a 2', 'create b 3', 'patch b 3']);
  });

  test('drops rejected events', async () => {
    await using world = setUp();
    world.errors.push(failure(403));
    world.sink.take(event('a'));
    world.sink.take(event('b'));
    await world.clock.advance(60_000);
    expect(world.calls).toEqual(['create a 1', 'create b 1']);
  });

  test('queues undelivered events in order, and drops the oldest beyond the bound', async () => {
    await using world = setUp();
    world.errors.push(new ServerUnreachableError('away'), failure(503));
    world.sink.take(event('old'));
    await world.clock.advance(0);
    for (let i = 0; i < 1000; i += 1) world.sink.take(event(`e${i}`));
    await world.clock.advance(10_000);
    expect(world.calls.slice(0, 3)).toEqual(['create old 1', 'create e0 1', 'create e0 1']);
    expect(world.calls).toHaveLength(1002);
  });

  test('respects the rate limit', async () => {
    await using world = setUp({ qps: 5, burst: 10 });
    for (let i = 0; i < 30; i += 1) world.sink.take(event(`e${i}`));
    await world.clock.advance(0);
    expect(world.calls).toHaveLength(10);
    await world.clock.advance(2000);
    expect(world.calls).toHaveLength(20);
  });
});
