/** Keys as bytes, whose order is the order of a store. */
import { Buffer } from 'node:buffer';

/** Returns the first key in byte order after this one. */
export function keyAfter(key: string): Buffer {
  return Buffer.from(`${key}\0`);
}

/** Returns the first bytes after every key with the prefix. UTF-8 has no byte 0xff. */
export function prefixEnd(prefix: string): Buffer {
  const end = Buffer.from(prefix);
  if (end.length === 0) return Buffer.from([0xff]);
  end[end.length - 1] = (end.at(-1) ?? 0) + 1;
  return end;
}
