/** Checksums of state files as the field computes them, so that a node can take over the files of another agent and
 *  be taken over: FNV-1a, 32 bits, over the text form of what is stored. Pure. */

const OFFSET = 0x81_1c_9d_c5;
const PRIME = 0x01_00_01_93;

/** Of the text's bytes in UTF-8. */
export function fnv32a(text: string): number {
  let hash = OFFSET;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, PRIME);
  return hash >>> 0;
}

/** The text form of a map, in order of its keys. */
export function mapText(
  entries: Readonly<Record<string, string>>,
  compare: (a: string, b: string) => number = (a, b) => (a < b ? -1 : 1),
): string {
  const sorted = Object.entries(entries).toSorted(([a], [b]) => compare(a, b));
  return `map[${sorted.map(([key, text]) => `${key}:${text}`).join(' ')}]`;
}
