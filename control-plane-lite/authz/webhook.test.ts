import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { ofRound } from '../../testing/rounds.ts';
import { BackendError } from '../webhooks/backend.ts';
import { AccessReviewError, readDecision, reviewSpecOf, reviewText } from './access-review.ts';
import type { AuthorizationAttributes } from './contract.ts';
import { createWebhookAuthorizer, type WebhookAuthorizerOptions } from './webhook.ts';

const { apiGroupDomain: API } = VOCABULARIES.kubernetes;

const vocabulary = VOCABULARIES.kubernetes;
const asked: AuthorizationAttributes = {
  user: { name: 'ann', uid: '7', groups: ['dev'], extra: { scopes: ['a', 'b'] } },
  verb: 'get',
  isResource: true,
  group: 'apps',
  version: 'v1',
  resource: 'deployments',
  subresource: 'scale',
  namespace: 'ns',
  name: 'web',
  path: '',
};

interface Setup {
  readonly respond?: (count: number) => string | Error;
  readonly options?: Partial<WebhookAuthorizerOptions>;
}

const statusText = (status: unknown): string => JSON.stringify({ status });

function setUp({ respond = () => statusText({ allowed: true }), options = {} }: Setup) {
  const clock = createFakeClock();
  const sent: string[] = [];
  const authorizer = createWebhookAuthorizer(
    {
      clock,
      log: silentLogger,
      random: () => 0,
      vocabulary,
      backend: {
        url: 'https://hook',
        post(body) {
          sent.push(body);
          const response = respond(sent.length);
          return typeof response === 'string' ? Promise.resolve(response) : Promise.reject(response);
        },
      },
    },
    { version: 'v1', authorizedTtlMs: 1000, unauthorizedTtlMs: 100, ...options },
  );
  return {
    clock,
    sent,
    authorize: (change = {}) => authorizer.authorize({ ...asked, ...change }),
    authorizer,
  };
}

const user = { user: 'ann', extra: { scopes: ['a', 'b'] }, uid: '7' };
const attributes = {
  namespace: 'ns',
  verb: 'get',
  group: 'apps',
  version: 'v1',
  resource: 'deployments',
  subresource: 'scale',
  name: 'web',
};

describe('reviews', () => {
  test.each([
    ['v1', { resourceAttributes: attributes, ...user, groups: ['dev'] }],
    ['v1beta1', { resourceAttributes: attributes, ...user, group: ['dev'] }],
  ] as const)('%s', (version, spec) => {
    expect(JSON.parse(reviewText(reviewSpecOf(asked), version, vocabulary))).toEqual({
      apiVersion: `authorization.${API}/${version}`,
      kind: 'SubjectAccessReview',
      metadata: { creationTimestamp: null },
      spec,
      status: { allowed: false },
    });
  });

  test('of a path, without what is empty', () => {
    const anonymous = { name: 'x', groups: [], extra: {} };
    expect(reviewSpecOf({ ...asked, user: anonymous, isResource: false, path: '/version' })).toEqual({
      nonResourceAttributes: { path: '/version', verb: 'get' },
      user: 'x',
    });
  });
});

type Json = Readonly<Record<string, unknown>>;

/** Effect of a response, or `invalid`. Any other error fails the test. */
function outcomeOf(text: string): string {
  try {
    return readDecision(text, 'v1', vocabulary).effect;
  } catch (thrown) {
    if (thrown instanceof AccessReviewError) return 'invalid';
    throw thrown;
  }
}

describe('responses', () => {
  const both = 'webhook subject access review returned both allow and deny response';
  test.each<[unknown, object]>([
    [{ status: { allowed: true } }, { effect: 'allow', reason: '' }],
    [{ status: { allowed: true, reason: 'why' } }, { effect: 'allow', reason: 'why' }],
    [{ status: { allowed: false, reason: 'why' } }, { effect: 'none', reason: 'why' }],
    [{ status: { allowed: false, denied: true, reason: 'no' } }, { effect: 'deny', reason: 'no' }],
    [{ status: { allowed: true, denied: true } }, { effect: 'deny', reason: '', error: both }],
    [{}, { effect: 'none', reason: '' }],
    [
      { apiVersion: `authorization.${API}/v1`, kind: 'SubjectAccessReview', status: { allowed: true } },
      { effect: 'allow', reason: '' },
    ],
  ])('%j', (review, decision) => {
    expect(readDecision(JSON.stringify(review), 'v1', vocabulary)).toEqual(decision);
  });

  test.each([
    '',
    'no JSON',
    '[]',
    '{"status":[]}',
    '{"status":{"allowed":"true"}}',
    '{"status":{"allowed":1}}',
    '{"status":{"denied":null}}',
    '{"status":{"reason":{}}}',
    `{"apiVersion":"authorization.${API}/v1beta1","status":{"allowed":true}}`,
    '{"kind":"Status","status":{"allowed":true}}',
  ])('%s is invalid', (text) => {
    expect(() => readDecision(text, 'v1', vocabulary)).toThrow(AccessReviewError);
  });

  test('allow nothing unless they say so exactly', () => {
    const member = fc.constantFrom(
      'allowed',
      'denied',
      'reason',
      'status',
      'kind',
      'apiVersion',
      '__proto__',
    );
    const status = fc.dictionary(member, fc.oneof(fc.jsonValue(), fc.boolean()));
    const review = fc.oneof(
      fc.json(),
      fc.string(),
      status.map((value) => statusText(value)),
      fc.dictionary(member, fc.oneof(fc.jsonValue(), status)).map((value) => JSON.stringify(value)),
    );
    const isAsSaid = (text: string): boolean =>
      outcomeOf(text) !== 'allow' || (JSON.parse(text) as { status: Json }).status['allowed'] === true;
    fc.assert(
      fc.property(review, (text) => {
        expect([text, isAsSaid(text)]).toEqual([text, true]);
      }),
      { numRuns: ofRound({ short: 500, long: 50_000 }) },
    );
  });
});

describe('the authorizer', () => {
  test('caches what is allowed, and what is not for a shorter time', async () => {
    const { authorize, sent, clock } = setUp({
      respond: (count) => statusText({ allowed: count === 1, reason: String(count) }),
    });
    expect(await authorize()).toEqual({ effect: 'allow', reason: '1' });
    await clock.advance(999);
    expect(await authorize()).toEqual({ effect: 'allow', reason: '1' });
    await clock.advance(1);
    expect(await authorize()).toEqual({ effect: 'none', reason: '2' });
    await clock.advance(99);
    expect(await authorize()).toEqual({ effect: 'none', reason: '2' });
    await clock.advance(1);
    expect(await authorize()).toEqual({ effect: 'none', reason: '3' });
    expect(sent).toHaveLength(3);
  });

  test.each([
    ['another user', { user: { ...asked.user, name: 'bob' } }],
    ['another group', { user: { ...asked.user, groups: ['dev', 'ops'] } }],
    ['other extra values', { user: { ...asked.user, extra: {} } }],
    ['another verb', { verb: 'list' }],
    ['another name', { name: 'other' }],
  ])('asks again for %s', async (_, change) => {
    const { authorize, sent } = setUp({});
    await authorize();
    await authorize(change);
    expect(sent).toHaveLength(2);
  });

  test.each([
    ['long attributes', { path: '/'.repeat(10_000) }, {}],
    ['a TTL of zero', {}, { authorizedTtlMs: 0 }],
  ])('does not cache with %s', async (_, change, options) => {
    const { authorize, sent } = setUp({ options });
    await authorize(change);
    await authorize(change);
    expect(sent).toHaveLength(2);
  });

  test('caches a bounded number of decisions', async () => {
    const { authorize, sent } = setUp({});
    for (let index = 0; index <= 8192; index += 1) await authorize({ name: `n${index}` });
    await authorize({ name: 'n8192' });
    expect(sent).toHaveLength(8193);
    await authorize({ name: 'n0' });
    expect(sent).toHaveLength(8194);
  });

  test.each<[string, Error, number]>([
    ['a busy server', new BackendError(429), 5],
    ['a failing server', new BackendError(503), 5],
    ['a reset connection', Object.assign(new Error('reset'), { code: 'ECONNRESET' }), 5],
    ['a server that is not there', Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }), 1],
    ['a rejected request', new BackendError(400), 1],
  ])('%s: no opinion after %s tries, and nothing cached', async (_, error, tries) => {
    const { authorize, sent, clock } = setUp({ respond: () => error });
    const deciding = Promise.resolve(authorize());
    for (let index = 0; index < tries; index += 1) {
      await new Promise(setImmediate);
      await clock.advance(5000);
    }
    expect(await deciding).toEqual({ effect: 'none', reason: '', error: error.message });
    expect(sent).toHaveLength(tries);
  });

  test('does not know the rules of a user', () => {
    expect(setUp({}).authorizer.rulesOf(asked.user, 'ns').missing).toEqual([
      'webhook authorizer does not support user rule resolution',
    ]);
  });
});
