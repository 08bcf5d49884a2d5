/** Checksums of state files as upstream computes them, so that either agent can restore the files of the
 *  other: FNV-1a, 32 bits, over the text form of the stored value. Pure. */

const OFFSET = 0x81_1c_9d_c5;
const PRIME = 0x01_00_01_93;

/** Covers the UTF-8 bytes of the text. */
export function fnv32a(text: string): number {
  let hash = OFFSET;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, PRIME);
  return hash >>> 0;
}

/** Returns the text form of a map, in order of its keys. */
export function mapText(
  entries: Readonly<Record<string, string>>,
  compare: (a: string, b: string) => number = (a, b) => (a < b ? -1 : 1),
): string {
  const sorted = Object.entries(entries).toSorted(([a], [b]) => compare(a, b));
  return `map[${sorted.map(([key, text]) => `${key}:${text}`).join(' ')}]`;
}
