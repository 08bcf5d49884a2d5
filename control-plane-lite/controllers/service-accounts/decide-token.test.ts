import { describe, expect, test } from 'vitest';
import type { Secret } from '#api/gen/core-v1.ts';
import { decideTokenSecret, filledData } from './decide-token.ts';

const names = { accountName: 'name', accountUid: 'uid' };
const content = { authority: 'PEM', namespace: 'n' };
const encode = (text: string): string => Buffer.from(text).toString('base64');
const account = { metadata: { name: 'robot', uid: 'u1' } };
const full: Secret = {
  metadata: { annotations: { name: 'robot', uid: 'u1' } },
  data: { token: encode('t'), 'ca.crt': encode('PEM'), namespace: encode('n') },
};

describe('decideTokenSecret', () => {
  test.each<[string, Secret, typeof account | undefined, string]>([
    ['that is complete', full, account, 'none'],
    ['that is new', { metadata: { annotations: { name: 'robot' } } }, account, 'fill'],
    ['without a token', { ...full, data: { ...full.data, token: '' } }, account, 'fill'],
    ['with another authority', { ...full, data: { ...full.data, 'ca.crt': encode('old') } }, account, 'fill'],
    ['without an account', full, undefined, 'delete'],
    ['of a former account with the same name', full, { metadata: { name: 'robot', uid: 'u2' } }, 'delete'],
  ])('a secret %s', (_, secret, known, kind) => {
    expect(decideTokenSecret(secret, known, content, names).kind).toBe(kind);
  });
});

describe('filledData', () => {
  test('retains the token and other data', () => {
    const data = { token: encode('t'), more: 'm', namespace: encode('own') };
    expect(filledData({ data }, content, encode('new'))).toEqual({ ...data, 'ca.crt': encode('PEM') });
  });

  test('takes the token where there is none', () => {
    expect(filledData({}, content, encode('new'))).toEqual({ ...full.data, token: encode('new') });
  });
});
