import { describe, expect, test } from 'vitest';
import { silentLogger } from '#api/kit/logger.ts';
import { AccessError, type AccessOptions, type Credentials, createAdmit } from './access.ts';
import type { Reviews } from './reviews.ts';

const ADA = { name: 'ada', groups: ['g'], extra: {} };
const reviews: Reviews = {
  userOfToken: (token) =>
    token === 'away'
      ? Promise.reject(new Error('no server'))
      : Promise.resolve(token === 'good' ? ADA : undefined),
  mayUse: ({ name }, { subresource }) =>
    subresource === 'log'
      ? Promise.reject(new Error('no server'))
      : Promise.resolve({ allowed: name === 'ada' && subresource === 'stats', reason: '' }),
};
const all: AccessOptions = { certificates: true, tokens: true, anonymous: true, mode: 'AlwaysAllow' };
const none: Credentials = { certificate: undefined, bearerToken: undefined };

async function admit(
  options: Partial<AccessOptions>,
  credentials: Partial<Credentials>,
  path = '/pods',
): Promise<unknown> {
  const check = createAdmit({ log: silentLogger, reviews }, { ...all, ...options });
  try {
    const { name, groups } = await check('GET', path, { ...none, ...credentials });
    return [name, ...groups];
  } catch (thrown) {
    if (!(thrown instanceof AccessError)) throw thrown;
    return { status: thrown.status, message: thrown.message };
  }
}

const good = { isTrusted: true, user: ADA };
const known = ['ada', 'g', 'system:authenticated'];
const anonymous = ['system:anonymous', 'system:unauthenticated'];
const refused = { status: 401, message: 'Unauthorized' };

describe('createAdmit', () => {
  test.each<[string, Partial<AccessOptions>, Partial<Credentials>, unknown]>([
    ['a certificate', {}, { certificate: good }, known],
    ['a bad certificate', {}, { certificate: { ...good, isTrusted: false } }, refused],
    [
      'a bad certificate where none count',
      { certificates: false },
      { certificate: { ...good, isTrusted: false } },
      anonymous,
    ],
    ['a certificate without a user', {}, { certificate: { isTrusted: true, user: undefined } }, anonymous],
    ['a token', {}, { bearerToken: 'good' }, known],
    ['a bad token', {}, { bearerToken: 'bad' }, refused],
    ['a token that cannot be reviewed', {}, { bearerToken: 'away' }, refused],
    ['a token where none count', { tokens: false }, { bearerToken: 'bad' }, anonymous],
    ['nothing', {}, {}, anonymous],
    ['nothing, where that is too little', { anonymous: false }, {}, refused],
    ['a certificate before a token', {}, { certificate: good, bearerToken: 'bad' }, known],
  ])('by %s', async (_, options, credentials, expected) => {
    expect(await admit(options, credentials)).toEqual(expected);
  });

  test.each([
    ['leave', '/stats/summary', known],
    [
      'refusal',
      '/pods',
      { status: 403, message: 'Forbidden (user=ada, verb=get, resource=nodes, subresource=proxy)' },
    ],
    [
      'no response',
      '/logs/',
      { status: 500, message: 'Authorization error (user=ada, verb=get, resource=nodes, subresource=log)' },
    ],
  ])('queries the API server: %s', async (_, path, expected) => {
    expect(await admit({ mode: 'Webhook' }, { certificate: good }, path)).toEqual(expected);
  });

  test('rejects everything without an API server', async () => {
    const check = createAdmit({ log: silentLogger, reviews: undefined }, { ...all, mode: 'Webhook' });
    await expect(check('GET', '/pods', { ...none, certificate: good })).rejects.toMatchObject({
      status: 403,
    });
    await expect(check('GET', '/pods', { ...none, bearerToken: 'good' })).rejects.toMatchObject({
      status: 401,
    });
  });
});
