import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import type { Json } from '../api-client/client.ts';
import { ApiRequestError, ServerUnreachableError } from '../api-client/errors.ts';
import { type AccountToken, createAccountTokens, renewalTime, type TokenRequest } from './account-tokens.ts';

const HOUR = 3_600_000;
const request: TokenRequest = {
  namespace: 'default',
  account: 'worker',
  podName: 'web',
  podUID: 'u1',
  audience: 'vault',
  expirationSeconds: 3600,
};

function setUp() {
  const clock = createFakeClock();
  const bodies: Json[] = [];
  const disk = new Map<string, AccountToken>();
  let fieldError: Error | undefined;
  const levels: string[] = [];
  const client = {
    create: (_: unknown, body: Json): Promise<Json> => {
      bodies.push(body);
      if (fieldError !== undefined) return Promise.reject(fieldError);
      const expirationTimestamp = new Date(clock.now() + HOUR).toISOString();
      return Promise.resolve({ status: { token: `t${bodies.length}`, expirationTimestamp } });
    },
  };
  const saved = {
    load: (uid: string, key: string) => Promise.resolve(disk.get(uid + key)),
    save: (uid: string, key: string, token: AccountToken) => void disk.set(uid + key, token),
    retainOnly: () => undefined,
  };
  const make = () =>
    createAccountTokens({
      client,
      saved,
      clock,
      log: {
        ...silentLogger,
        warn: () => void levels.push('warn'),
        debug: () => void levels.push('debug'),
      },
      tokenApiVersion: 'authentication.test.io/v1',
      random: () => 0,
    });
  const fail = (error: Error | undefined): void => {
    fieldError = error;
  };
  return { clock, bodies, make, fail, levels, tokens: make() };
}

describe('createAccountTokens', () => {
  test('requests a token that is bound to the pod, once', async () => {
    const { tokens, bodies } = setUp();
    const both = await Promise.all([tokens.get(request), tokens.get(request)]);
    expect(both.map(({ token }) => token)).toEqual(['t1', 't1']);
    expect(bodies).toEqual([
      {
        apiVersion: 'authentication.test.io/v1',
        kind: 'TokenRequest',
        spec: {
          audiences: ['vault'],
          expirationSeconds: 3600,
          boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'web', uid: 'u1' },
        },
      },
    ]);
  });

  test('renews after 80 % of its life', async () => {
    const { tokens, clock } = setUp();
    await tokens.get(request);
    await clock.advance(0.8 * HOUR - 1);
    expect((await tokens.get(request)).token).toBe('t1');
    await clock.advance(1);
    expect((await tokens.get(request)).token).toBe('t2');
  });

  test.each([
    ['80 %', 10 * HOUR, 8 * HOUR],
    ['a day, however long it lives', 1000 * HOUR, 24 * HOUR],
  ])('is due after %s', (_, lifeMs, afterMs) => {
    const token = { token: 't', issuedAtMs: 1000, expiresAtMs: 1000 + lifeMs };
    expect(renewalTime(token, 0)).toBe(1000 + afterMs);
    expect(renewalTime(token, 1)).toBe(1000 + afterMs - 10_000);
  });

  test('separates tokens by audience and pod', async () => {
    const { tokens, bodies } = setUp();
    await tokens.get(request);
    await tokens.get({ ...request, audience: '' });
    await tokens.get({ ...request, podUID: 'u2' });
    expect(bodies).toHaveLength(3);
    tokens.retainOnly(new Set(['u1']));
    await tokens.get(request);
    await tokens.get({ ...request, podUID: 'u2' });
    expect(bodies).toHaveLength(4);
  });

  test('uses the last one while the server is unavailable, across a restart and past its expiry', async () => {
    const { tokens, clock, fail, make } = setUp();
    await tokens.get(request);
    await clock.advance(2 * HOUR);
    fail(new ServerUnreachableError('away'));
    expect((await tokens.get(request)).token).toBe('t1');
    expect((await make().get(request)).token).toBe('t1');
    await expect(make().get({ ...request, podUID: 'other' })).rejects.toThrow('away');
  });

  test.each([
    [{ status: 404, reason: 'NotFound', message: 'serviceaccounts "worker" not found' }, {}],
    [
      { status: 403, reason: 'Forbidden', message: 'namespace default is being terminated' },
      { causes: [{ reason: 'NamespaceTerminating' }] },
    ],
  ])(
    'a failure that the end of the namespace explains is no warning until it lasts: %o',
    async (failure, details) => {
      const { clock, fail, levels, tokens } = setUp();
      await tokens.get(request);
      fail(new ApiRequestError(failure, details));
      await clock.advance(0.8 * HOUR);
      await tokens.get(request);
      await tokens.get(request);
      expect(levels).toEqual(['debug', 'debug']);
      await clock.advance(5000);
      await tokens.get(request);
      expect(levels).toEqual(['debug', 'debug', 'warn']);
    },
  );

  test('returns no expired token when the server rejects a renewal', async () => {
    const { tokens, clock, fail } = setUp();
    await tokens.get(request);
    fail(new ApiRequestError({ status: 403, reason: 'Forbidden', message: 'no more' }));
    await clock.advance(0.9 * HOUR);
    expect((await tokens.get(request)).token).toBe('t1');
    await clock.advance(HOUR);
    await expect(tokens.get(request)).rejects.toThrow('no more');
  });
});
