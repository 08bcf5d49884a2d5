import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { ofRound } from '../../testing/rounds.ts';
import { createAbac } from './abac.ts';
import { AbacPolicyError, parseAbacPolicies } from './abac-policy.ts';
import type { AuthorizationAttributes } from './contract.ts';

const { domain: DOMAIN } = VOCABULARIES.kubernetes;

const FILE = '/etc/policy.jsonl';
const user = (name: string, ...groups: string[]) => ({
  name,
  groups: [...groups, 'system:authenticated'],
  extra: {},
});
const asked: AuthorizationAttributes = {
  user: user('ann', 'dev'),
  verb: 'get',
  isResource: true,
  group: '',
  version: 'v1',
  resource: 'pods',
  subresource: '',
  namespace: 'ns',
  name: 'web',
  path: '',
};
const path = (given: string, verb = 'get'): Partial<AuthorizationAttributes> => ({
  isResource: false,
  resource: '',
  namespace: '',
  path: given,
  verb,
});

const v0 = (policy: object): string => JSON.stringify(policy);
const v1beta1 = (spec: object): string =>
  JSON.stringify({ apiVersion: `abac.authorization.${DOMAIN}/v1beta1`, kind: 'Policy', spec });
const decide = async (lines: string, change: Partial<AuthorizationAttributes>) =>
  createAbac(parseAbacPolicies(lines, FILE).policies).authorize({ ...asked, ...change });

describe('ABAC', () => {
  test.each<[string, string, Partial<AuthorizationAttributes>, boolean]>([
    ['v0: its user', v0({ user: 'ann' }), {}, true],
    ['v0: no other user', v0({ user: 'bob' }), {}, false],
    ['v0: its group', v0({ group: 'dev' }), {}, true],
    ['v0: no other group', v0({ group: 'ops' }), {}, false],
    ['v0: user and group together', v0({ user: 'ann', group: 'ops' }), {}, false],
    ['v0: everybody with a star', v0({ user: '*' }), {}, true],
    ['v0: everybody without a subject', v0({}), {}, true],
    ['v0: not the anonymous user', v0({}), { user: { name: 'x', groups: [], extra: {} } }, false],
    ['v0: every namespace', v0({ user: 'ann', resource: 'pods' }), { namespace: 'other' }, true],
    ['v0: its namespace', v0({ user: 'ann', namespace: 'other' }), {}, false],
    ['v0: its resource', v0({ user: 'ann', resource: 'secrets' }), {}, false],
    ['v0: every group of the API', v0({ user: 'ann', resource: 'pods' }), { group: 'apps' }, true],
    ['v0: reads', v0({ user: 'ann', readonly: true }), { verb: 'watch' }, true],
    ['v0: no writes of a reader', v0({ user: 'ann', readonly: true }), { verb: 'create' }, false],
    ['v0: paths without a resource and namespace', v0({ user: 'ann' }), path('/metrics'), true],
    ['v0: no paths with a resource', v0({ user: 'ann', resource: '*' }), path('/metrics'), false],
    [
      'v0: the version may be given',
      v0({ apiVersion: `abac.authorization.${DOMAIN}/v0`, kind: 'Policy', user: 'ann' }),
      {},
      true,
    ],
    [
      'v1beta1: what it names',
      v1beta1({ user: 'ann', namespace: 'ns', resource: 'pods', apiGroup: '' }),
      {},
      true,
    ],
    [
      'v1beta1: nobody without a subject',
      v1beta1({ namespace: '*', resource: '*', apiGroup: '*' }),
      {},
      false,
    ],
    [
      'v1beta1: everybody with a star',
      v1beta1({ group: '*', namespace: '*', resource: '*', apiGroup: '*' }),
      {},
      true,
    ],
    ['v1beta1: no resource when empty', v1beta1({ user: 'ann' }), {}, false],
    [
      'v1beta1: its API group',
      v1beta1({ user: 'ann', namespace: '*', resource: '*', apiGroup: 'apps' }),
      {},
      false,
    ],
    ['v1beta1: its path', v1beta1({ user: 'ann', nonResourcePath: '/version' }), path('/version'), true],
    [
      'v1beta1: no other path',
      v1beta1({ user: 'ann', nonResourcePath: '/version' }),
      path('/versions'),
      false,
    ],
    [
      'v1beta1: paths below a star',
      v1beta1({ user: 'ann', nonResourcePath: '/api/**' }),
      path('/api/v1'),
      true,
    ],
    ['v1beta1: no resource of a path', v1beta1({ user: 'ann', nonResourcePath: '*' }), {}, false],
    [
      'subresources with their resource',
      v1beta1({ user: 'ann', namespace: 'ns', resource: 'pods' }),
      { subresource: 'exec', verb: 'create' },
      true,
    ],
    [
      'the first of several lines that matches',
      `# no\n\n${v0({ user: 'bob' })}\r\n  ${v0({ user: 'ann' })}`,
      {},
      true,
    ],
  ])('%s', async (_, lines, change, allowed) => {
    expect(await decide(lines, change)).toEqual(
      allowed ? { effect: 'allow', reason: '' } : { effect: 'none', reason: 'No policy matched.' },
    );
  });

  test('lists the rules of a user in a namespace', () => {
    const lines = [
      v1beta1({ user: 'ann', namespace: 'ns', resource: 'pods', apiGroup: '', readonly: true }),
      v1beta1({ user: 'ann', namespace: 'other', resource: 'secrets', apiGroup: '' }),
      v1beta1({ user: 'bob', namespace: '*', resource: '*', apiGroup: '*' }),
      v1beta1({ group: 'dev', namespace: '*', nonResourcePath: '/healthz' }),
    ].join('\n');
    const { policies } = parseAbacPolicies(lines, FILE);
    expect(createAbac(policies).rulesOf(asked.user, 'ns')).toEqual({
      resource: [{ verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['pods'] }],
      nonResource: [{ verbs: ['*'], nonResourceURLs: ['/healthz'] }],
      missing: [],
    });
  });
});

/** The message of the rejection; empty if there is none. Any other error fails the test. */
function outcomeOf(text: string): string {
  try {
    const { policies } = parseAbacPolicies(text, FILE);
    createAbac(policies).rulesOf(asked.user, 'ns');
    return '';
  } catch (thrown) {
    if (thrown instanceof AbacPolicyError) return thrown.message;
    throw thrown;
  }
}

describe('parseAbacPolicies', () => {
  test.each<[string, string, RegExp]>([
    ['no JSON', '{"user":', /line 2: \{"user":: /],
    ['no object', '[]', /must be an object/],
    ['another kind', '{"apiVersion":"v1","kind":"Pod"}', /no kind "Pod" is registered for version "v1"/],
    ['another version', v1beta1({}).replace('v1beta1', 'v2'), /no kind "Policy" is registered/],
    ['a kind of no version', '{"kind":"Role"}', /no kind "Role"/],
    ['a version of no kind', `{"apiVersion":"abac.authorization.${DOMAIN}/v1beta1"}`, /no kind ""/],
    ['a number for a user', v1beta1({ user: 1 }), /spec\.user: .*must be a string/],
    ['a text for a flag', '{"readonly":"yes"}', /readonly: .*must be true or false/],
    ['no spec', v1beta1({}).replace('{}', '[]'), /spec: .*must be an object/],
  ])('rejects %s, and names the line', (_, line, expected) => {
    const parse = (): unknown => parseAbacPolicies(`# first\n${line}\n`, FILE);
    expect(parse).toThrow(AbacPolicyError);
    expect(parse).toThrow(/^error reading policy file \/etc\/policy\.jsonl, line 2: /);
    expect(parse).toThrow(expected);
  });

  test('warns about members without effect and lines without a version', () => {
    const { warnings } = parseAbacPolicies(`{"user":"ann","namspace":"ns"}\n${v1beta1({})}`, FILE);
    expect(warnings).toEqual([
      expect.stringContaining('line 1: namspace: '),
      expect.stringContaining('1 policies have no apiVersion'),
    ]);
  });

  const member = fc.oneof(
    fc.constantFrom('user', 'group', 'readonly', 'spec', 'kind', 'apiVersion', 'namespace', '__proto__'),
    fc.string(),
  );
  const anything = fc.oneof(
    fc.json(),
    fc.string(),
    fc.dictionary(member, fc.jsonValue()).map((value) => JSON.stringify(value)),
  );

  test('reads any line, or rejects it with its file and number', () => {
    fc.assert(
      fc.property(fc.array(anything, { maxLength: 5 }), (lines) => {
        assert.match(outcomeOf(lines.join('\n')), /^$|policy\.jsonl, line \d+: /);
      }),
      { numRuns: ofRound({ short: 300, long: 30_000 }) },
    );
  });
});
