import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import type { Json } from '../client.ts';
import { ApiRequestError, ServerUnreachableError } from '../errors.ts';
import type { Query } from '../resource-path.ts';
import type { WatchEvent } from '../watch-events.ts';
import { runReflector } from './reflector.ts';

const pod = (name: string, resourceVersion: string): Json => ({ metadata: { name, resourceVersion } });
const list = (resourceVersion: string, ...items: readonly Json[]): Json => ({
  metadata: { resourceVersion },
  items,
});
const failure = (status: number): ApiRequestError =>
  new ApiRequestError({ status, reason: 'Test', message: `status ${status}` });

type Result<T> = T | Error;

/** A server with a sequence of responses; afterwards it sends nothing more. */
function script(lists: Result<Json>[], watches: { events: WatchEvent[]; end?: Error | 'ends' }[]) {
  const clock = createFakeClock();
  const stop = new AbortController();
  const seen: string[] = [];
  const never = (signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
  const client = {
    async list(_address: unknown, signal: AbortSignal, query: Query = {}): Promise<Json> {
      const { limit: _limit, ...rest } = query;
      seen.push(
        `list ${new URLSearchParams(JSON.parse(JSON.stringify(rest)) as Record<string, string>).toString()}`,
      );
      const next = lists.shift();
      if (next === undefined) return never(signal);
      if (next instanceof Error) throw next;
      return next;
    },
    async *watch(
      _address: unknown,
      signal: AbortSignal,
      query: Query = {},
    ): AsyncGenerator<WatchEvent, void> {
      seen.push(`watch ${query['resourceVersion']}`);
      const next = watches.shift() ?? { events: [] };
      yield* next.events;
      if (next.end === undefined) await never(signal);
      else if (next.end !== 'ends') throw next.end;
    },
  };
  const sink = {
    replace: (objects: readonly Json[]) =>
      void seen.push(`= ${objects.map((each) => (each['metadata'] as { name: string }).name).join()}`),
    change: ({ type, object }: { type: string; object: Json }) =>
      void seen.push(`${type} ${(object['metadata'] as { name: string }).name}`),
    away: () => void seen.push('away'),
    back: () => void seen.push('back'),
  };
  const returns = new Set<() => void>();
  const onReturn = (listener: () => void) => {
    returns.add(listener);
    return () => void returns.delete(listener);
  };
  const deps = { client, clock, log: silentLogger, onReturn, random: () => 0 };
  const address = { apiVersion: 'v1', resource: 'pods' };
  const running = runReflector(deps, { address, fieldSelector: 'spec.nodeName=n1' }, sink, stop.signal);
  return {
    clock,
    seen,
    returned: () => {
      for (const listener of returns) listener();
    },
    async [Symbol.asyncDispose]() {
      stop.abort(new Error('over'));
      await running;
    },
  };
}

describe('runReflector', () => {
  test('lists, then reports each change', async () => {
    await using world = script(
      [list('5', pod('a', '3'))],
      [
        {
          events: [
            { type: 'ADDED', object: pod('b', '6') },
            { type: 'MODIFIED', object: pod('a', '7') },
            { type: 'DELETED', object: pod('b', '8') },
          ],
        },
      ],
    );
    await world.clock.advance(0);
    expect(world.seen).toEqual([
      'list fieldSelector=spec.nodeName%3Dn1',
      '= a',
      'back',
      'watch 5',
      'ADDED b',
      'MODIFIED a',
      'DELETED b',
    ]);
  });

  test('resumes from the last version, including bookmarks, when a watch ends or fails', async () => {
    await using world = script(
      [list('5')],
      [
        { events: [{ type: 'ADDED', object: pod('a', '6') }], end: 'ends' },
        {
          events: [{ type: 'BOOKMARK', object: pod('', '9') }],
          end: new ServerUnreachableError('broke off'),
        },
      ],
    );
    await world.clock.advance(0);
    await world.clock.advance(1000);
    expect(world.seen.filter((line) => line.startsWith('watch') || line.startsWith('list'))).toEqual([
      'list fieldSelector=spec.nodeName%3Dn1',
      'watch 5',
      'watch 6',
      'watch 9',
    ]);
  });

  test('lists again when its version is expired', async () => {
    await using world = script(
      [list('5', pod('a', '3')), list('90', pod('c', '80'))],
      [{ events: [], end: failure(410) }],
    );
    await world.clock.advance(0);
    await world.clock.advance(1000);
    expect(world.seen.slice(-3)).toEqual(['list fieldSelector=spec.nodeName%3Dn1', '= c', 'watch 90']);
    expect(world.seen).not.toContain('away');
  });

  test('retains its version while the server is unavailable or overloaded, and reports that once', async () => {
    const away = new ServerUnreachableError('gone');
    await using world = script(
      [list('5')],
      [
        { events: [], end: away },
        { events: [], end: failure(429) },
        { events: [], end: failure(503) },
        { events: [{ type: 'ADDED', object: pod('a', '6') }] },
      ],
    );
    await world.clock.advance(0);
    for (let waits = 0; waits < 4; waits += 1) await world.clock.advance(10_000);
    expect(world.seen).toEqual([
      'list fieldSelector=spec.nodeName%3Dn1',
      '= ',
      'back',
      'watch 5',
      'away',
      'watch 5',
      'watch 5',
      'watch 5',
      'back',
      'ADDED a',
    ]);
  });

  test('waits longer after each failed list', async () => {
    const away = new ServerUnreachableError('gone');
    await using world = script([away, away, away, list('1')], []);
    await world.clock.advance(0);
    const lists = () => world.seen.filter((line) => line.startsWith('list')).length;
    expect(lists()).toBe(1);
    await world.clock.advance(799);
    expect(lists()).toBe(1);
    await world.clock.advance(1);
    expect(lists()).toBe(2);
    await world.clock.advance(1599);
    expect(lists()).toBe(2);
    await world.clock.advance(1);
    expect(lists()).toBe(3);
  });

  test('stops waiting when another client finds the server available', async () => {
    const away = new ServerUnreachableError('gone');
    await using world = script([away, away, list('1')], []);
    await world.clock.advance(0);
    await world.clock.advance(800);
    world.returned();
    await world.clock.advance(0);
    expect(world.seen).toContain('back');
  });

  test('backs off after a watch that ends immediately', async () => {
    await using world = script([list('5')], [{ events: [], end: 'ends' }]);
    await world.clock.advance(0);
    expect(world.seen.filter((line) => line.startsWith('watch'))).toHaveLength(1);
    await world.clock.advance(1000);
    expect(world.seen.filter((line) => line.startsWith('watch'))).toHaveLength(2);
  });

  test('aborts a watch that the server should have ended', async () => {
    await using world = script([list('5')], [{ events: [] }]);
    await world.clock.advance(0);
    await world.clock.advance(329_000);
    expect(world.seen.filter((line) => line.startsWith('watch'))).toHaveLength(1);
    await world.clock.advance(2_000);
    expect(world.seen.filter((line) => line.startsWith('watch'))).toHaveLength(2);
  });
});
