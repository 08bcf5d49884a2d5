import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { type CreateReview, createReviews, decisionOfReview, userOfReview } from './reviews.ts';

const NODE = { nodeName: 'n1', tokenTtlMs: 120_000, allowedTtlMs: 300_000, deniedTtlMs: 30_000 };
const ADA = { name: 'ada', groups: ['g'], extra: {} };

function setUp(respond: (object: Readonly<Record<string, unknown>>) => object) {
  const clock = createFakeClock();
  const asked: (readonly [string, string, unknown])[] = [];
  const create: CreateReview = ({ apiVersion, resource }, object) => {
    asked.push([apiVersion, resource, object['spec']]);
    return Promise.resolve({ ...object, ...respond(object) });
  };
  const reviews = createReviews({ create, clock, vocabulary: VOCABULARIES.kubernetes }, NODE);
  return { clock, asked, reviews };
}

describe('userOfToken', () => {
  const known = { status: { authenticated: true, user: { username: 'ada', uid: '7', groups: ['g'] } } };

  test('queries once per TTL', async () => {
    const { clock, asked, reviews } = setUp(() => known);
    const both = await Promise.all([reviews.userOfToken('t'), reviews.userOfToken('t')]);
    expect(both[0]).toEqual({ ...ADA, uid: '7' });
    await clock.advance(119_999);
    await reviews.userOfToken('t');
    expect(asked).toHaveLength(1);
    await clock.advance(1);
    await reviews.userOfToken('t');
    await reviews.userOfToken('other');
    expect(asked.map(([, resource, spec]) => [resource, spec])).toEqual([
      ['tokenreviews', { token: 't' }],
      ['tokenreviews', { token: 't' }],
      ['tokenreviews', { token: 'other' }],
    ]);
  });

  test('caches invalid tokens', async () => {
    const { asked, reviews } = setUp(() => ({ status: { authenticated: false } }));
    expect([await reviews.userOfToken('t'), await reviews.userOfToken('t')]).toEqual([undefined, undefined]);
    expect(asked).toHaveLength(1);
  });
});

describe('mayUse', () => {
  const get = { verb: 'get', subresource: 'stats' } as const;

  test('caches allowed decisions longer than denied ones', async () => {
    const { clock, asked, reviews } = setUp(({ spec }) => ({
      status: { allowed: (spec as { user: string }).user === 'ada' },
    }));
    expect((await reviews.mayUse(ADA, get)).allowed).toBe(true);
    expect((await reviews.mayUse({ ...ADA, name: 'bob' }, get)).allowed).toBe(false);
    await clock.advance(30_000);
    await reviews.mayUse(ADA, get);
    await reviews.mayUse({ ...ADA, name: 'bob' }, get);
    expect(asked.map(([, , spec]) => (spec as { user: string }).user)).toEqual(['ada', 'bob', 'bob']);
  });

  test('sends the node and all attributes of the user', async () => {
    const { asked, reviews } = setUp(() => ({ status: { allowed: true } }));
    await reviews.mayUse({ name: 'ada', uid: '7', groups: ['g'], extra: { k: ['v'] } }, get);
    const attributes = { verb: 'get', version: 'v1', resource: 'nodes', subresource: 'stats', name: 'n1' };
    expect(asked).toEqual([
      [
        `authorization.${VOCABULARIES.kubernetes.apiGroupDomain}/v1`,
        'subjectaccessreviews',
        { resourceAttributes: attributes, user: 'ada', groups: ['g'], uid: '7', extra: { k: ['v'] } },
      ],
    ]);
  });
});

describe('userOfReview', () => {
  test.each([
    ['no status', {}],
    ['no leave', { status: { user: { username: 'ada' } } }],
    ['no name', { status: { authenticated: true, user: {} } }],
    ['what is no status', { status: 'yes' }],
  ])('finds no user in %s', (_, review) => {
    expect(userOfReview(review)).toBeUndefined();
  });

  test('accepts only strings', () => {
    const user = { username: 'ada', groups: ['a', 7], extra: { k: ['v', null], x: 'y' } };
    expect(userOfReview({ status: { authenticated: true, user } })).toEqual({
      name: 'ada',
      groups: ['a'],
      extra: { k: ['v'], x: [] },
    });
  });
});

describe('decisionOfReview', () => {
  test.each([
    [{ allowed: true }, true],
    [{ allowed: true, denied: true }, false],
    [{ allowed: 'true' }, false],
    [{}, false],
  ])('%j', (status, allowed) => {
    expect(decisionOfReview({ status }).allowed).toBe(allowed);
  });
});
