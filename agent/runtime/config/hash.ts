/** A hash of a container spec, kept with the container to see later whether its spec changed. Pure. */
import { createHash } from 'node:crypto';
import type { Container, EphemeralContainer } from '#api/schema/gen/core-v1.ts';

/** 16 hexadecimal digits over the spec as JSON with sorted keys. What is absent, null or empty doesn't count, so
 *  that a field which a newer agent knows but nobody set restarts nothing. */
export function containerHash(container: Container | EphemeralContainer): string {
  return createHash('sha256').update(stableJson(container)).digest('hex').slice(0, 16);
}

/** JSON with the keys of every object sorted and empty members left out. */
export function stableJson(value: unknown): string {
  return JSON.stringify(normalize(value)) ?? 'null';
}

function normalize(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normalize);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value)
    .map(([key, member]): [string, unknown] => [key, normalize(member)])
    .filter(([, member]) => !isEmpty(member))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members);
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
