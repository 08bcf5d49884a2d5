import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { StatusError } from '#api/meta/status-error.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { CacheError } from '../contract.ts';
import { type ContinueToken, decodeContinue, encodeContinue } from './continue-token.ts';
import { statusOf, watchStatusOf } from './list-errors.ts';

const { apiGroupDomain } = VOCABULARIES.kubernetes;
const VERSION = `meta.${apiGroupDomain}/v1`;
const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Reports whether the call returned, or failed with the proper error. */
function outcome(decode: () => unknown): unknown {
  try {
    return typeof decode() === 'object';
  } catch (error) {
    return error instanceof StatusError && error.code === 400 ? true : error;
  }
}

describe('continue tokens', () => {
  test('come back as they were, in letters that a URL may have', () => {
    const revision = fc.option(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), { nil: undefined });
    fc.assert(
      fc.property(revision, fc.string({ unit: 'grapheme', minLength: 1 }), (rv, after) => {
        const token: ContinueToken = rv === undefined ? { after } : { revision: rv, after };
        const text = encodeContinue(token, apiGroupDomain);
        expect(text).toMatch(/^[\w-]+$/);
        expect(decodeContinue(text, apiGroupDomain)).toEqual(token);
      }),
    );
  });

  test.each<[string, string, string]>([
    ['no base64', '%%%', 'illegal base64 data'],
    ['standard base64', 'a+b/', 'illegal base64 data'],
    ['padding', `${encoded({})}=`, 'illegal base64 data'],
    ['no JSON', 'abcd', 'invalid JSON'],
    ['null', encoded(null), 'server does not recognize this encoded version'],
    ['a list', encoded([1]), 'server does not recognize this encoded version'],
    [
      'another version',
      encoded({ v: 'v9', rv: 1, start: 'a' }),
      'server does not recognize this encoded version "v9"',
    ],
    [
      'no revision',
      encoded({ v: VERSION, start: 'a' }),
      `incorrect encoded start resourceVersion (version ${VERSION})`,
    ],
    ['revision 0', encoded({ v: VERSION, rv: 0, start: 'a' }), 'incorrect encoded start resourceVersion'],
    [
      'a broken revision',
      encoded({ v: VERSION, rv: 1.5, start: 'a' }),
      'incorrect encoded start resourceVersion',
    ],
    [
      'a negative revision',
      encoded({ v: VERSION, rv: -2, start: 'a' }),
      'incorrect encoded start resourceVersion',
    ],
    [
      'a huge revision',
      encoded({ v: VERSION, rv: 1e300, start: 'a' }),
      'incorrect encoded start resourceVersion',
    ],
    ['no key', encoded({ v: VERSION, rv: 1 }), `encoded start key empty (version ${VERSION})`],
    ['a key that is no text', encoded({ v: VERSION, rv: 1, start: {} }), 'encoded start key empty'],
    ['endless length', 'a'.repeat(100_000), 'illegal base64 data'],
  ])('with %s are refused', (_what, token, message) => {
    expect(() => decodeContinue(token, apiGroupDomain)).toThrow(
      expect.objectContaining({
        code: 400,
        reason: 'BadRequest',
        message: expect.stringContaining(
          `invalid continue token: continue key is not valid: ${message}`,
        ) as string,
      }),
    );
  });

  test('of any text are rejected as such, or parsed', () => {
    const texts = fc.oneof(fc.string(), fc.base64String(), fc.jsonValue().map(encoded));
    fc.assert(
      fc.property(texts, (text) => {
        expect(outcome(() => decodeContinue(text, apiGroupDomain))).toBe(true);
      }),
    );
  });
});

describe('statusOf', () => {
  test('gives an expired page a token to go on with', () => {
    const token = encodeContinue({ after: 'a/b' }, apiGroupDomain);
    const status = statusOf(new CacheError('expired', 'too old', 9), 3, token).toStatus();
    expect(status).toMatchObject({ code: 410, reason: 'Expired', metadata: { continue: token } });
    expect(status.message).toMatch(/continue token has expired/);
  });

  test.each([
    ['expired', { code: 410, reason: 'Expired', metadata: {} }],
    ['future', { code: 504, reason: 'Timeout', message: 'Too large resource version: 12, current: 9' }],
    ['unavailable', { code: 503, reason: 'ServiceUnavailable', details: { retryAfterSeconds: 1 } }],
  ] as const)('of %s', (reason, status) => {
    expect(statusOf(new CacheError(reason, 'text', 9), 12).toStatus()).toMatchObject(status);
  });

  test('leaves the message of an expired watch unchanged', () => {
    const error = new CacheError('expired', 'too old resource version: 1 (5)', 9);
    expect(watchStatusOf(error, 1).toStatus()).toMatchObject({
      code: 410,
      message: 'too old resource version: 1 (5)',
    });
  });
});
