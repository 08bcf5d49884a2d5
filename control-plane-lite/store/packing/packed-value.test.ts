import { Buffer } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { assert, asyncProperty, jsonValue, string, uint8Array } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fromDense, toDense } from './dense-text.ts';
import { pack, unpack } from './packed-value.ts';

const MIB = 1024 * 1024;
const LONG = 'x'.repeat(2 * MIB);
const jsonOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const dense = (json: Buffer): Buffer => toDense(json) ?? json;

describe('the dense form of JSON', () => {
  test('is as long as what its strings encode', () => {
    const bytes = randomBytes(100_000);
    const control = Buffer.from(bytes.map((byte) => byte & 31)).toString();
    expect(dense(jsonOf({ a: bytes.toString('base64') })).length).toBeLessThan(100_020);
    expect(dense(jsonOf([control, control])).length).toBeLessThan(200_020);
  });

  test('restores every JSON text', async () => {
    const text = string({ unit: 'binary', minLength: 20, maxLength: 60 });
    await assert(
      asyncProperty(jsonValue({ stringUnit: 'binary' }), text, uint8Array(), (value, long, bytes) => {
        const base64 = Buffer.from(bytes).toString('base64');
        const json = jsonOf({ [long]: value, a: [long, base64, `${base64}"`, `${base64}\\`], [base64]: {} });
        expect(fromDense(dense(json)).equals(json)).toBe(true);
        return Promise.resolve();
      }),
    );
  });

  test('leaves strings alone that are written otherwise than by this program', () => {
    for (const text of ['\\u0041'.repeat(20), '\\/'.repeat(20), `${'a'.repeat(40)}\\ud800`]) {
      const json = Buffer.from(`{"a":"${text}"}`);
      expect(dense(json).equals(json)).toBe(true);
    }
  });

  test('does not exist for bytes with control characters', () => {
    expect(toDense(Buffer.from('{\n}'))).toBeUndefined();
  });
});

describe('a packed value', () => {
  test('is that which is too long, or looks packed', () => {
    expect(pack(Buffer.from('{}'))).toEqual(Buffer.from('{}'));
    expect(pack(jsonOf(LONG))).toBeInstanceOf(Promise);
  });

  test.each<[string, Buffer]>([
    ['a long text', jsonOf({ a: LONG })],
    ['base64 of random bytes', jsonOf({ a: randomBytes(1.49 * MIB).toString('base64') })],
    [
      'control characters',
      jsonOf({ a: Buffer.from(randomBytes(1.49 * MIB).map((byte) => byte & 31)).toString() }),
    ],
    ['random bytes', Buffer.concat([Buffer.from([1]), randomBytes(1.49 * MIB)])],
    ['bytes that look packed', Buffer.from([1, 3, 5])],
    ['an end in a string', Buffer.from(`{"${LONG}`)],
  ])('is short enough for etcd and restored: %s', async (_, value) => {
    const stored = await pack(value);
    expect(stored.length).toBeLessThan(1.5 * MIB - 1000);
    expect(unpack(stored).equals(value)).toBe(true);
  });
});
