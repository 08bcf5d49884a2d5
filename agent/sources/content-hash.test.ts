import { assert, jsonValue, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson, contentHash } from './static-identity.ts';

/** Returns the same value with reversed keys in every object. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, reversed(member)]),
  );
}

describe('canonicalJson', () => {
  test('does not depend on the order of keys', () => {
    assert(
      property(jsonValue(), (value) => {
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value));
      }),
    );
  });

  test('is JSON of the same value', () => {
    assert(
      property(jsonValue(), (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test('omits undefined members and keeps the order of lists', () => {
    expect(canonicalJson({ b: undefined, a: [2, 1, undefined] })).toBe('{"a":[2,1,null]}');
  });
});

describe('contentHash', () => {
  test('distinguishes parts by their boundaries', () => {
    expect(contentHash('ab', 'c')).not.toBe(contentHash('a', 'bc'));
    expect(contentHash('a')).toMatch(/^[0-9a-f]{32}$/u);
  });
});
