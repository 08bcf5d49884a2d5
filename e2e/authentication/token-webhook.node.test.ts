/** Token webhook in a process of its own, over mutual TLS. Document 2 §2.1 and §5.4. */
import { writeFile } from 'node:fs/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { usePlane } from '../plane/support.ts';
import { startTokenWebhook, type TokenWebhook, tokenFor } from './token-webhook.ts';

const ISSUER = 'https://cluster.example';
const EVERYBODY = ['system:authenticated'];
const ann = { authenticated: true, user: { username: 'ann' } };

interface Status {
  readonly authenticated?: boolean;
  readonly user?: object;
  readonly audiences?: readonly string[];
  readonly error?: string;
}

describe.each([
  ['v1beta1', 'plat', []],
  ['v1', 'kubernetes', ['--authentication-token-webhook-version=v1']],
] as const)('a token webhook of %s in the %s vocabulary', (version, vocabulary, more) => {
  let webhook: TokenWebhook;
  const plane = usePlane(vocabulary, async (dir) => {
    webhook = await startTokenWebhook(dir);
    await writeFile(`${dir}/tokens`, 'static,carl,1\n');
    return [
      `--authentication-token-webhook-config-file=${webhook.configFile}`,
      `--service-account-issuer=${ISSUER}`,
      `--token-auth-file=${dir}/tokens`,
      ...more,
    ];
  });
  afterAll(() => webhook[Symbol.asyncDispose]());

  async function review(token: string, audiences: readonly string[] = []): Promise<Status> {
    const { body } = await plane.post(plane.path('authentication/v1', 'tokenreviews'), {
      spec: { token, audiences },
    });
    return body.status;
  }
  const count = async (token: string): Promise<number> => (await webhook.reviews(token)).length;

  test('gets the token and the audiences, in its version', async () => {
    const token = tokenFor({ status: ann }, 'form');
    expect(await review(token)).toEqual({
      authenticated: true,
      user: { username: 'ann', groups: EVERYBODY },
      audiences: [ISSUER],
    });
    expect(await webhook.reviews(token)).toEqual([
      {
        kind: 'TokenReview',
        apiVersion: `authentication.${plane.words.apiGroupDomain}/${version}`,
        metadata: { creationTimestamp: null },
        spec: { token, audiences: [ISSUER] },
        status: { user: {} },
      },
    ]);
  });

  test('identifies the user of a request, with all attributes', async () => {
    const user = {
      username: 'ann',
      uid: 'u1',
      groups: ['dev', 'ops'],
      extra: { 'example.com/team': ['a', 'b'] },
    };
    const token = tokenFor({ status: { authenticated: true, user } });
    expect((await review(token)).user).toEqual({ ...user, groups: ['dev', 'ops', ...EVERYBODY] });
    const { status, body } = await plane.as(token).get('/api/v1/nodes');
    expect([status, body.message]).toEqual([403, expect.stringContaining('User "ann" cannot list')]);
    expect(await count(token)).toBe(1);
  });

  test.each([
    ['for some of the audiences', ['a', 'b'], ['b', 'c'], ['b']],
    ['for none of them', ['a'], ['b'], undefined],
    ['without audiences, for the server', [ISSUER, 'x'], undefined, [ISSUER]],
    ['without audiences, for others', ['x'], undefined, undefined],
  ])('is asked %s', async (name, asked, said, expected) => {
    const token = tokenFor({ status: { ...ann, ...(said === undefined ? {} : { audiences: said }) } }, name);
    const { authenticated, audiences } = await review(token, asked);
    expect([authenticated, audiences]).toEqual([expected === undefined ? undefined : true, expected]);
  });

  test.each([
    ['without a reason', { status: { authenticated: false } }, 'invalid bearer token'],
    ['without a status', {}, 'invalid bearer token'],
    ['with a reason', { status: { error: 'the badge was lost' } }, 'the badge was lost'],
    [
      'with a user whom it does not authenticate',
      { status: { ...ann, authenticated: false } },
      'invalid bearer token',
    ],
    [
      'without a name',
      { status: { authenticated: true } },
      "token webhook: the webhook's response is invalid: status.user.username is required for an authenticated user",
    ],
    [
      'with groups that are none',
      { status: { ...ann, user: { username: 'ann', groups: 'dev' } } },
      "token webhook: the webhook's response is invalid: status.user.groups is not a list",
    ],
    ['with rubbish', { text: '<html>' }, "token webhook: the webhook's response is not JSON"],
    [
      'in another version',
      { status: ann, review: { apiVersion: 'authentication.example.com/v1' } },
      expect.stringContaining('expected a TokenReview of authentication.'),
    ],
    [
      'of another kind',
      { status: ann, review: { kind: 'Status' } },
      expect.stringContaining('expected a TokenReview of'),
    ],
    ['with a refusal', { code: 403 }, 'token webhook: the server responded with status 403'],
    ['unavailable', { code: 503 }, 'token webhook: the server responded with status 503'],
  ])('that replies %s authenticates nobody', async (name, reply, reason) => {
    const token = tokenFor(reply, name);
    expect(await review(token)).toEqual({ user: {}, error: reason as unknown });
    const { status, body } = await plane.as(token).get('/api');
    expect([status, body.message]).toEqual([401, 'Unauthorized']);
  });

  test.each([
    ['internal error', { code: 500 }],
    ['timeout of a gateway', { code: 504 }],
    ['too many requests', { code: 429 }],
    ['request to retry', { code: 503, headers: { 'retry-after': '1' } }],
    ['closed connection', { reset: true }],
  ])('is asked again after: %s', async (name, problem) => {
    const token = tokenFor([problem, { status: ann }], name);
    expect(await review(token)).toMatchObject({ authenticated: true });
    expect(await count(token)).toBe(2);
  });

  test.each([
    ['of a good token', { status: ann }, 1],
    ['of an unknown token', { status: { authenticated: false } }, 1],
    ['of a token with a reason, for a short time', { status: { error: 'late' } }, 1],
    ['but no failure', { code: 403 }, 3],
  ])('has its reply cached: %s', async (name, reply, calls) => {
    const token = tokenFor(reply, `cached ${name}`);
    for (let round = 0; round < 3; round += 1) await review(token);
    expect(await count(token)).toBe(calls);
  });

  test('is asked once for simultaneous requests with a token', async () => {
    const token = tokenFor({ status: ann, delayMs: 200 });
    await Promise.all(Array.from({ length: 20 }, () => plane.as(token).get('/api')));
    expect(await count(token)).toBe(1);
  });

  test('is not asked for tokens that the server knows itself', async () => {
    expect((await review('static')).user).toMatchObject({ username: 'carl' });
    expect(await count('static')).toBe(0);
  });
});
