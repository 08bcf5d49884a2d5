/** Hash names of template revisions: equal templates have equal names on every server. Pure. */
import { embeddedText } from '#api/codec/embedded-text.ts';
import { isMutableObject } from '#api/kit/object.ts';

/** As in generated names: no vowels, nothing that is easily misread. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** JSON with sorted members. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isMutableObject(value)) return JSON.stringify(value) ?? 'null';
  const members = Object.keys(value)
    .toSorted()
    .filter((name) => value[name] !== undefined)
    .map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`);
  return `{${members.join(',')}}`;
}

function fnv32(text: string): number {
  let hash = FNV_OFFSET;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, FNV_PRIME) >>> 0;
  return hash;
}

/** The FNV-1 variant: multiplies first. */
function fnv32First(text: string): number {
  let hash = FNV_OFFSET;
  for (const byte of Buffer.from(text)) hash = (Math.imul(hash, FNV_PRIME) ^ byte) >>> 0;
  return hash;
}

const wordOf = (hash: number): string =>
  String(hash).replace(/\d/g, (digit) => ALPHABET[digit.charCodeAt(0) % ALPHABET.length] ?? '');

/** A short hash of the value; `collisions` gives a different one for the same value. */
export const hashWord = (value: unknown, collisions?: number): string =>
  wordOf(fnv32(`${canonical(value)}${collisions === undefined ? '' : `#${collisions}`}`));

/** The hash that upstream's StatefulSet controller computes from the data of a ControllerRevision. */
export const revisionWord = (data: unknown, collisions = 0): string =>
  wordOf(fnv32First(`${embeddedText(data)}${collisions}`));
