/** Building blocks of requests with very many members. */
import type { Ask } from './requests.ts';

/** Bodies may have 3 MiB; the rest is for what stands around. */
const MOST_BYTES = 3 * 1024 * 1024 - 4096;
/** Keys of three characters, then of four; a ConfigMap with all of them has less than 1 MiB. */
export const KEYS = 300_000;
/** Keys of the largest object that is stored along with who owns each of them. */
export const KEPT_KEYS = 70_000;
/** Keys of the largest one whose owners are not recorded. */
export const BARE_KEYS = 100_000;
/** Empty objects, one after the other. */
export const ITEMS: number = Math.floor(MOST_BYTES / 3);

const CHARACTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';

function keyOf(index: number): string {
  const { length } = CHARACTERS;
  const at = (place: number): string => CHARACTERS.charAt(Math.floor(index / length ** place) % length);
  return at(0) + at(1) + at(2) + (index < length ** 3 ? '' : at(3));
}

export const members = (count: number, value: string): string =>
  `{${Array.from({ length: count }, (_, index) => `"${keyOf(index)}":${value}`).join()}}`;
export const list = (count: number, item: string): string => `[${`${item},`.repeat(count - 1)}${item}]`;
export const named = (name: string, rest: string): string => `{"metadata":{"name":"${name}"},${rest}}`;

export const ask = (method: string, target: string, body: string, type = 'application/json'): Ask => ({
  method,
  target,
  headers: [['Content-Type', type]],
  body: Buffer.from(body),
});
export const get = (target: string, accept: string, encoding?: string): Ask => ({
  method: 'GET',
  target,
  headers: [['Accept', accept], ...(encoding === undefined ? [] : [['Accept-Encoding', encoding] as const])],
});

export type Asks = readonly (readonly [string, Ask])[];
