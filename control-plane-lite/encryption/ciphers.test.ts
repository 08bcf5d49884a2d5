import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ofRound } from '../../testing/rounds.ts';
import { aesCbc, aesGcm, secretbox } from './ciphers.ts';

const REFUSED = /tag|auth/i;
const KEY = Buffer.alloc(32, 1);
const CONTEXT = Buffer.from('/registry/secrets/a/b');
const runs = { numRuns: ofRound({ short: 60, long: 3000 }) };

const CIPHERS = [
  ['aescbc', aesCbc, [16, 24, 32]],
  ['aesgcm', aesGcm, [16, 24, 32]],
  ['secretbox', secretbox, [32]],
] as const;

const outcomeOf = (open: () => Buffer): unknown => {
  try {
    return open();
  } catch (thrown) {
    return thrown;
  }
};

describe.each(CIPHERS)('%s', (name, create, lengths) => {
  test('opens what it has sealed, with keys of every length', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.constantFrom(...lengths), (bytes, length) => {
        const cipher = create(Buffer.alloc(length, 3));
        const value = Buffer.from(bytes);
        const sealed = cipher.seal(value, CONTEXT);
        expect(cipher.open(sealed, CONTEXT).equals(value)).toBe(true);
        expect(cipher.seal(value, CONTEXT).equals(sealed)).toBe(false);
      }),
      runs,
    );
  });

  test('any bytes are a value or an error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const result = outcomeOf(() => create(KEY).open(Buffer.from(bytes), CONTEXT));
        expect(result instanceof Error || Buffer.isBuffer(result)).toBe(true);
      }),
      runs,
    );
  });

  test.skipIf(name === 'aescbc')('refuses values with one bit changed, and those of another key', () => {
    const sealed = create(KEY).seal(Buffer.from('value'), CONTEXT);
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => create(KEY).open(changed, CONTEXT)).toThrow(REFUSED);
    }
    expect(() => create(Buffer.alloc(32, 2)).open(sealed, CONTEXT)).toThrow(REFUSED);
  });
});

test('aesgcm refuses a value under another storage key', () => {
  const sealed = aesGcm(KEY).seal(Buffer.from('value'), CONTEXT);
  expect(() => aesGcm(KEY).open(sealed, Buffer.from('/registry/secrets/a/c'))).toThrow(REFUSED);
});

test('reads published vectors', () => {
  // XSalsa20-Poly1305 of NaCl's tests/box.c: key, nonce, tag with ciphertext.
  const key = Buffer.from('1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389', 'hex');
  const nonce = '69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37';
  const box =
    'f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5';
  const opened = secretbox(key).open(Buffer.from(nonce + box, 'hex'), CONTEXT);
  expect(opened.toString('hex')).toMatch(/^be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffc/);
  // AES-256-GCM of NIST's test case 14 of the GCM specification: zero key, nonce and block.
  const gcm = aesGcm(Buffer.alloc(32));
  const block = 'cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919';
  expect(gcm.open(Buffer.from('00'.repeat(12) + block, 'hex'), Buffer.alloc(0))).toEqual(Buffer.alloc(16));
});
