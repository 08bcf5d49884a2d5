import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { formatTime } from '#api/meta/time.ts';
import { VOCABULARIES, type VocabularyName } from '#api/vocabulary.ts';
import type { ApiObject } from '../resources/contract.ts';
import { createBootstrapTokenAuthenticator } from './bootstrap-token.ts';
import type { AuthenticationResult } from './contract.ts';

const ID = 'abcdef';
const SECRET = '0123456789abcdef';
const clock = createFakeClock();
const at = (deltaMs: number): string => formatTime(clock.now() + deltaMs);

interface Traits {
  readonly data?: Readonly<Record<string, string | undefined>>;
  readonly members?: object;
  readonly name?: string;
  readonly vocabulary?: VocabularyName;
}

function secret({ data = {}, members = {}, name = ID, vocabulary = 'plat' }: Traits): ApiObject {
  const words = VOCABULARIES[vocabulary];
  const texts: Readonly<Record<string, string | undefined>> = {
    'token-id': ID,
    'token-secret': SECRET,
    'usage-bootstrap-authentication': 'true',
    ...data,
  };
  const encoded = Object.entries(texts).flatMap(([key, text]) =>
    text === undefined ? [] : [[key, Buffer.from(text).toString('base64')] as const],
  );
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `bootstrap-token-${name}`, namespace: words.systemNamespace },
    type: words.secretTypeBootstrapToken,
    data: Object.fromEntries(encoded),
    ...members,
  };
}

async function authenticate(traits: Traits, bearerToken = `${ID}.${SECRET}`): Promise<AuthenticationResult> {
  const words = VOCABULARIES[traits.vocabulary ?? 'plat'];
  const key = `${words.systemNamespace}/bootstrap-token-${ID}`;
  const authenticator = createBootstrapTokenAuthenticator({
    clock,
    vocabulary: words,
    find: (wanted) => (wanted === key ? secret(traits) : undefined),
  });
  return authenticator.authenticate({ headers: {}, intermediates: [], bearerToken });
}

const groups = (text: string): Traits => ({ data: { 'auth-extra-groups': text } });

describe('createBootstrapTokenAuthenticator', () => {
  test.each<VocabularyName>(['plat', 'kubernetes'])(
    'authenticates in the vocabulary %s',
    async (vocabulary) => {
      const extra = 'system:bootstrappers:b,system:bootstrappers:a:c';
      expect(await authenticate({ vocabulary, ...groups(extra) })).toEqual({
        kind: 'user',
        user: {
          name: `system:bootstrap:${ID}`,
          groups: ['system:bootstrappers', 'system:bootstrappers:b', 'system:bootstrappers:a:c'],
          extra: {},
        },
      });
    },
  );

  test.each<[string, Traits, string]>([
    ['no expiry', {}, 'user'],
    ['a time to come', { data: { expiration: at(1000) } }, 'user'],
    ['a time that is now', { data: { expiration: at(0) } }, 'rejected'],
    ['a time that is over', { data: { expiration: at(-1000) } }, 'rejected'],
    ['a time that is none', { data: { expiration: 'soon' } }, 'rejected'],
    ['another usage', { data: { 'usage-bootstrap-authentication': 'yes' } }, 'rejected'],
    ['a group of others', groups('system:masters'), 'rejected'],
    ['a group without a name', groups('system:bootstrappers:'), 'rejected'],
    ['a group like a good one', groups('system:bootstrappers:a\nb'), 'rejected'],
    ['another secret', { data: { 'token-secret': 'f'.repeat(16) } }, 'none'],
    ['no secret', { data: { 'token-secret': undefined } }, 'none'],
    ['another id', { data: { 'token-id': 'zzzzzz' } }, 'none'],
    ['another name', { name: 'zzzzzz' }, 'none'],
    ['another type', { members: { type: 'Opaque' } }, 'none'],
    [
      'its end before it',
      {
        members: {
          metadata: {
            name: `bootstrap-token-${ID}`,
            namespace: VOCABULARIES.plat.systemNamespace,
            deletionTimestamp: at(0),
          },
        },
      },
      'none',
    ],
  ])('a Secret with %s', async (_, traits, kind) => {
    expect((await authenticate(traits)).kind).toBe(kind);
  });

  test.each([
    '',
    ID,
    `${ID}.`,
    `${ID}.${SECRET}0`,
    `${ID}.${SECRET.toUpperCase()}`,
    `zzzzzz.${SECRET}`,
    `../../.${SECRET}`,
  ])('does not know %j', async (token) => {
    expect(await authenticate({}, token)).toEqual({ kind: 'none' });
  });
});
