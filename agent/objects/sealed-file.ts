/** Encrypted content of a file: a header, a nonce, and the content in AES-256-GCM, authenticated with the file's name. */
import { Buffer } from 'node:buffer';
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** No JSON text starts with it. */
const HEADER = Buffer.from('\u0001objects1');
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const ALGORITHM = 'aes-256-gcm';

export function sealFile(key: Buffer, name: string, content: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(name));
  return Buffer.concat([HEADER, nonce, cipher.update(content, 'utf8'), cipher.final(), cipher.getAuthTag()]);
}

export const isSealed = (bytes: Buffer): boolean => bytes.subarray(0, HEADER.length).equals(HEADER);

/** @throws Error if it was not sealed with this key under this name */
export function openFile(key: Buffer, name: string, bytes: Buffer): string {
  const contentAt = HEADER.length + NONCE_BYTES;
  const tagAt = bytes.length - TAG_BYTES;
  if (tagAt < contentAt) throw new Error('the file is too short');
  const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(HEADER.length, contentAt))
    .setAAD(Buffer.from(name))
    .setAuthTag(bytes.subarray(tagAt));
  return decipher.update(bytes.subarray(contentAt, tagAt), undefined, 'utf8') + decipher.final('utf8');
}
