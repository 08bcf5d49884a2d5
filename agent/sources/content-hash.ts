/** Digest of a parsed object, independent of the key order, spacing and comments of its text. Pure. */
import { createHash } from 'node:crypto';

/** Returns JSON with sorted keys; `undefined` members are omitted, as in JSON.stringify. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item: unknown) => canonicalJson(item ?? null)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
}

/** Returns 32 hexadecimal digits over the parts, each terminated so that moving text between them changes the
 *  digest.
 *  MD5 as upstream: the digest identifies content, it does not protect it. */
export function contentHash(...parts: readonly string[]): string {
  const hash = createHash('md5');
  for (const part of parts) hash.update(`${part.length}:`).update(part);
  return hash.digest('hex');
}
