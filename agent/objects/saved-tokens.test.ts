import { describe, expect, test } from 'vitest';
import type { Json } from '../api-client/client.ts';
import { createSavedTokens, tokensKey } from './saved-tokens.ts';

const token = (name: string) => ({ token: name, issuedAtMs: 1, expiresAtMs: 2 });

function setUp(disk: Map<string, Json> = new Map()) {
  const tokens = createSavedTokens({
    load: ({ name }) => Promise.resolve(disk.get(name)),
    save: ({ name }, object) => void (object === undefined ? disk.delete(name) : disk.set(name, object)),
    retainOnly: () => undefined,
  });
  return { disk, tokens };
}

describe('createSavedTokens', () => {
  test('retains all tokens of a pod, including those of an earlier agent', async () => {
    const { tokens, disk } = setUp();
    tokens.save('u', 'a', token('t1'));
    tokens.save('u', 'b', token('t2'));
    expect(await tokens.load('u', 'b')).toEqual(token('t2'));
    const later = setUp(disk).tokens;
    later.save('u', 'a', token('t3'));
    expect(await later.load('u', 'a')).toEqual(token('t3'));
    expect(await later.load('u', 'b')).toEqual(token('t2'));
    expect(await later.load('other', 'b')).toBeUndefined();
    expect(disk.get(tokensKey('u').name)).toEqual({ a: token('t3'), b: token('t2') });
  });

  test('reads again what it has dropped', async () => {
    const { tokens } = setUp();
    tokens.save('u', 'a', token('t1'));
    expect(await tokens.load('u', 'a')).toEqual(token('t1'));
    tokens.retainOnly(new Set());
    expect(await tokens.load('u', 'a')).toEqual(token('t1'));
  });
});
