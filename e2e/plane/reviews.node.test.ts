/** TokenReview and access reviews. Document 1 §1; authentication/v1 and authorization/v1. */
import { writeFile } from 'node:fs/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { usePlane } from './support.ts';

let dir: TempDir | undefined;
afterAll(() => dir?.[Symbol.asyncDispose]());

const plane = usePlane('plat', async () => {
  dir = await createTempDir('na-reviews-');
  const file = `${dir.path}/tokens.csv`;
  await writeFile(file, 'secret,jane,u-1,"devs,ops"\n', { mode: 0o600 });
  return [`--token-auth-file=${file}`];
});
const tokenReviews = plane.path('authentication/v1', 'tokenreviews');
const access = plane.path('authorization/v1', 'subjectaccessreviews');
const local = plane.path('authorization/v1', 'namespaces/default/localsubjectaccessreviews');
const resourceAttributes = { verb: 'get', resource: 'pods', namespace: 'default' };

describe('a token', () => {
  test('that is good has its user', async () => {
    const { status, body } = await plane.post(tokenReviews, { spec: { token: 'secret' } });
    expect(status).toBe(201);
    expect(body.status).toEqual({
      authenticated: true,
      user: { username: 'jane', uid: 'u-1', groups: ['devs', 'ops', 'system:authenticated'] },
      audiences: [`https://${plane.words.apiService}.default.svc`],
    });
  });

  test('that is bad has none', async () => {
    const { status, body } = await plane.post(tokenReviews, { spec: { token: 'other' } });
    expect(status).toBe(201);
    expect(body.status['authenticated']).toBeUndefined();
    expect(body.status['user']).toEqual({});
  });

  test('has to be there', async () => {
    const { status, body } = await plane.post(tokenReviews, { spec: {} });
    expect([status, body.reason, body.message]).toEqual([
      400,
      'BadRequest',
      'token is required for TokenReview in authentication',
    ]);
  });
});

describe('access', () => {
  test.each([
    [access, { user: 'jane', resourceAttributes }, []],
    [access, { resourceAttributes }, ['spec.user']],
    [access, { user: 'jane' }, ['spec.resourceAttributes']],
    [
      access,
      { user: 'jane', resourceAttributes, nonResourceAttributes: { verb: 'get', path: '/' } },
      ['spec.nonResourceAttributes'],
    ],
    [local, { user: 'jane', resourceAttributes }, []],
    [
      local,
      { user: 'jane', resourceAttributes: { ...resourceAttributes, namespace: 'other' } },
      ['spec.resourceAttributes.namespace'],
    ],
  ])('%s of %j', async (path, spec, fields) => {
    const { status, body } = await plane.post(path, { spec });
    const causes = body.kind === 'Status' ? (body.details.causes ?? []) : [];
    expect([status, causes.map(({ field }) => field)]).toEqual([fields.length === 0 ? 201 : 422, fields]);
  });

  test('is a question without a name', async () => {
    const { status, body } = await plane.post(access, {
      metadata: { name: 'a' },
      spec: { user: 'jane', resourceAttributes },
    });
    expect([status, body.details.causes?.[0]?.field]).toEqual([422, 'metadata']);
  });

  test('is determined by all rules of a namespace', async () => {
    const rules = plane.path('authorization/v1', 'selfsubjectrulesreviews');
    const { status, body } = await plane.post(rules, { spec: {} });
    expect([status, body.message]).toEqual([400, 'no namespace on request']);
    const requested = await plane.post(rules, { spec: { namespace: 'default' } });
    expect([requested.status, requested.body.status['incomplete']]).toEqual([201, false]);
  });
});
