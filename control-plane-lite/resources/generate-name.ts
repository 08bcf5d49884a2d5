/** Names that the server generates from `generateName`. */
import { randomInt } from 'node:crypto';

/** Without vowels and ambiguous characters, so that generated names contain no words and are readable. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const SUFFIX_LENGTH = 5;
const LONGEST_NAME = 63;

/** `base` with a random suffix, cut so that the whole is a DNS label. */
export function generateName(base: string, random: (below: number) => number = randomInt): string {
  let suffix = '';
  for (let index = 0; index < SUFFIX_LENGTH; index += 1) suffix += ALPHABET[random(ALPHABET.length)] ?? '';
  return `${base.slice(0, LONGEST_NAME - SUFFIX_LENGTH)}${suffix}`;
}
