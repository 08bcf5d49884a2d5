/** Hash of a container spec, stored with the container to detect changes of the spec. Pure. */
import { createHash } from 'node:crypto';
import type { Container, EphemeralContainer } from '#api/gen/core-v1.ts';

/** Returns 16 hexadecimal digits over the spec as JSON with sorted keys. Absent, null and empty members are
 *  ignored, so that an unset field that only a newer agent knows causes no restart. */
export function containerHash(container: Container | EphemeralContainer): string {
  return createHash('sha256').update(stableJson(container)).digest('hex').slice(0, 16);
}

/** Returns JSON with sorted object keys and without empty members. */
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
