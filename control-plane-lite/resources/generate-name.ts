/** Names that the server generates from `generateName`. */
import { randomInt } from 'node:crypto';

/** No vowels and nothing that is easily misread: a generated name spells no word. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const SUFFIX_LENGTH = 5;
const LONGEST_NAME = 63;

/** `base` with a random suffix, cut so that the whole is a DNS label. */
export function generateName(base: string, random: (below: number) => number = randomInt): string {
  let suffix = '';
  for (let index = 0; index < SUFFIX_LENGTH; index += 1) suffix += ALPHABET[random(ALPHABET.length)] ?? '';
  return `${base.slice(0, LONGEST_NAME - SUFFIX_LENGTH)}${suffix}`;
}
