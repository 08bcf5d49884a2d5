/** Values that are longer than a request to etcd may be, in a form that is shorter. The longest objects that upstream
 *  stores have up to several times as much JSON as protobuf: names of members, base64, escapes. Packed, they are about as
 *  short as their protobuf, or shorter. */
import { Buffer } from 'node:buffer';
import { promisify } from 'node:util';
import { deflateRaw, inflateRawSync } from 'node:zlib';
import { fromDense, toDense } from './dense-text.ts';

/** Default of etcd's `--max-request-bytes`, less what is around the value. */
const MAX_PLAIN_BYTES = 1.5 * 1024 * 1024 - 4096;

/** First byte of a packed value; the second one says how. Only binary values start with it. */
const PACKED = 1;
const HEAD_BYTES = 2;
const DENSE = 1;
const DEFLATED = 2;

const deflate = promisify(deflateRaw);

const isPacked = (value: Buffer): boolean => value[0] === PACKED;

/** Returns the value to store: itself, unless it is too long or looks packed. */
export function pack(value: Buffer): Buffer | Promise<Buffer> {
  return value.length > MAX_PLAIN_BYTES || isPacked(value) ? packed(value) : value;
}

async function packed(value: Buffer): Promise<Buffer> {
  const dense = toDense(value);
  const form = dense === undefined ? 0 : DENSE;
  const content = dense ?? value;
  const deflated = await deflate(content);
  // Nothing can be deflated of random bytes.
  return deflated.length < content.length
    ? Buffer.concat([Buffer.from([PACKED, form | DEFLATED]), deflated])
    : Buffer.concat([Buffer.from([PACKED, form]), content]);
}

/** Returns the value that `pack` was given. */
export function unpack(stored: Buffer): Buffer {
  if (!isPacked(stored)) return stored;
  const form = stored[1] ?? 0;
  const content = stored.subarray(HEAD_BYTES);
  const dense = (form & DEFLATED) === 0 ? content : inflateRawSync(content);
  return (form & DENSE) === 0 ? dense : fromDense(dense);
}
