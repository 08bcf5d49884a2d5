import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import type { AuthenticationResult } from './contract.ts';
import { createTokenCache } from './token-cache.ts';

const user = (name: string, expiresMs?: number): AuthenticationResult => ({
  kind: 'user',
  user: { name, groups: [], extra: {} },
  ...(expiresMs === undefined ? {} : { expiresMs }),
});

function setUp(reply: (token: string) => AuthenticationResult | Promise<AuthenticationResult>) {
  const clock = createFakeClock(1_000_000_000_000);
  const calls: string[] = [];
  const counts: Record<string, number> = {};
  const count = (name: string, by = 1): void => {
    counts[name] = (counts[name] ?? 0) + by;
  };
  const cache = createTokenCache(
    {
      clock,
      audiences: ['api'],
      stats: {
        request: (status) => count(`request ${status}`),
        fetched: (status) => count(`fetched ${status}`),
        active: (status, change) => count(`active ${status}`, change),
      },
    },
    {
      name: 'inner',
      authenticate({ bearerToken = '' }) {
        calls.push(bearerToken);
        return reply(bearerToken);
      },
    },
    { successMs: 120_000, unknownMs: 60_000, rejectedMs: 10_000 },
  );
  const ask = async (bearerToken: string, audiences?: readonly string[]) =>
    cache.authenticate({ headers: {}, intermediates: [], bearerToken, ...(audiences && { audiences }) });
  return { clock, calls, counts, ask };
}

describe('createTokenCache', () => {
  test.each<[string, AuthenticationResult, number]>([
    ['a user', user('ann'), 120_000],
    ['a user until the credential expires', user('ann', 1_000_000_005_000), 5000],
    ['an unknown token', { kind: 'none' }, 60_000],
    ['a rejected token', { kind: 'rejected', message: 'no' }, 10_000],
    ['no transient rejection', { kind: 'rejected', message: 'down', transient: true }, 0],
  ])('caches %s', async (_, result, ms) => {
    const { ask, calls, clock } = setUp(() => result);
    expect(await ask('t')).toEqual(result);
    await clock.advance(Math.max(0, ms - 1));
    expect(await ask('t')).toEqual(result);
    expect(calls.length).toBe(ms === 0 ? 2 : 1);
    await clock.advance(1);
    await ask('t');
    expect(calls.length).toBe(ms === 0 ? 3 : 2);
  });

  test('is not fooled by a wall clock that jumps', async () => {
    const { ask, calls, clock } = setUp(() => user('ann'));
    await ask('t');
    clock.jumpWall(-365 * 86_400_000);
    await clock.advance(120_000);
    await ask('t');
    expect(calls.length).toBe(2);
  });

  test('distinguishes tokens and audiences', async () => {
    const { ask, calls } = setUp((token) => user(token));
    expect(await ask('a')).toEqual(user('a'));
    expect(await ask('b')).toEqual(user('b'));
    await ask('a', ['vault']);
    // The server's own audiences are the default.
    await ask('a', ['api']);
    expect(calls).toEqual(['a', 'b', 'a']);
  });

  test('verifies a token once for simultaneous requests, and counts', async () => {
    const gate = Promise.withResolvers<AuthenticationResult>();
    const { ask, calls, counts } = setUp(() => gate.promise);
    const all = Array.from({ length: 10 }, () => ask('t'));
    await Promise.resolve();
    expect(counts).toMatchObject({ 'active blocked': 10, 'active in_flight': 1 });
    gate.resolve(user('ann'));
    expect(await Promise.all(all)).toEqual(Array.from({ length: 10 }, () => user('ann')));
    expect(calls.length).toBe(1);
    await ask('t');
    expect(counts).toEqual({
      'request hit': 1,
      'request miss': 10,
      'fetched ok': 1,
      'active blocked': 0,
      'active in_flight': 0,
    });
  });

  test('does not let bad tokens evict good ones', async () => {
    const { ask, calls } = setUp((token) => (token === 'good' ? user('ann') : { kind: 'none' }));
    await ask('good');
    for (let index = 0; index < 10_000; index += 1) await ask(`bad-${index}`);
    await ask('good');
    expect(calls.filter((token) => token === 'good').length).toBe(1);
    // The newest bad ones are cached, the oldest are not.
    await ask('bad-9999');
    await ask('bad-0');
    expect(calls.slice(10_001)).toEqual(['bad-0']);
  });
});
