/** Encryption of values with a local key, in upstream's layouts. */
import { Buffer } from 'node:buffer';
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { xsalsa20poly1305 } from '@noble/ciphers/salsa.js';
import type { Cipher, Transformer } from './contract.ts';

const BLOCK_BYTES = 16;
const GCM_NONCE_BYTES = 12;
const GCM_TAG_BYTES = 16;
const SECRETBOX_NONCE_BYTES = 24;

const bitsOf = (key: Uint8Array): string => String(key.length * 8);

/** AES-CBC with PKCS #7 padding: initialization vector, blocks. Not authenticated. */
export function aesCbc(key: Buffer): Cipher {
  const algorithm = `aes-${bitsOf(key)}-cbc`;
  return {
    seal(value) {
      const iv = randomBytes(BLOCK_BYTES);
      const cipher = createCipheriv(algorithm, key, iv);
      return Buffer.concat([iv, cipher.update(value), cipher.final()]);
    },
    open(sealed) {
      if (sealed.length < 2 * BLOCK_BYTES || sealed.length % BLOCK_BYTES !== 0)
        throw new Error('the length of the value is not that of whole blocks');
      const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, BLOCK_BYTES));
      return Buffer.concat([decipher.update(sealed.subarray(BLOCK_BYTES)), decipher.final()]);
    },
  };
}

/** AES-GCM: nonce, blocks, tag. A random nonce allows about 2³² values per key. */
export function aesGcm(key: Buffer): Cipher {
  const algorithm = key.length === 16 ? 'aes-128-gcm' : key.length === 24 ? 'aes-192-gcm' : 'aes-256-gcm';
  return {
    seal(value, context) {
      const nonce = randomBytes(GCM_NONCE_BYTES);
      const cipher = createCipheriv(algorithm, key, nonce).setAAD(context);
      return Buffer.concat([nonce, cipher.update(value), cipher.final(), cipher.getAuthTag()]);
    },
    open(sealed, context) {
      if (sealed.length < GCM_NONCE_BYTES + GCM_TAG_BYTES) throw new Error('the value is too short');
      const tagAt = sealed.length - GCM_TAG_BYTES;
      const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, GCM_NONCE_BYTES))
        .setAAD(context)
        .setAuthTag(sealed.subarray(tagAt));
      return Buffer.concat([decipher.update(sealed.subarray(GCM_NONCE_BYTES, tagAt)), decipher.final()]);
    },
  };
}

/** XSalsa20 and Poly1305, the secretbox of NaCl: nonce, tag, value. The context is not authenticated. */
export function secretbox(key: Buffer): Cipher {
  return {
    seal(value) {
      const nonce = randomBytes(SECRETBOX_NONCE_BYTES);
      return Buffer.concat([nonce, xsalsa20poly1305(key, nonce).encrypt(value)]);
    },
    open(sealed) {
      if (sealed.length < SECRETBOX_NONCE_BYTES) throw new Error('the value is too short');
      const nonce = sealed.subarray(0, SECRETBOX_NONCE_BYTES);
      const value = xsalsa20poly1305(key, nonce).decrypt(sealed.subarray(SECRETBOX_NONCE_BYTES));
      return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    },
  };
}

/** Makes a transformer of a cipher. */
export const withPrefix = (prefix: string, cipher: Cipher): Transformer => ({
  prefix,
  seal: (value, context) => cipher.seal(value, context),
  open: (sealed, context) => cipher.open(sealed, context),
  originOf: () => prefix,
  isCurrent: (origin) => origin === prefix,
});

/** Stores values as they are. */
export const IDENTITY: Transformer = withPrefix('', { seal: (value) => value, open: (sealed) => sealed });
