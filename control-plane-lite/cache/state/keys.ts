/** Key order: that of the UTF-8 bytes, as in the store. */

const SURROGATE_FIRST = 0xd800;
const SURROGATE_LAST = 0xdfff;

/** Maps UTF-16 units to code point order: surrogates represent what comes after U+FFFF. */
function weight(unit: number): number {
  return unit >= SURROGATE_FIRST && unit <= SURROGATE_LAST ? unit + 0x10_000 : unit;
}

/** Returns a negative number, zero or a positive one if the bytes of `a` sort before, equal, or after those
 *  of `b`. */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left !== right) return weight(left) - weight(right);
  }
  return a.length - b.length;
}

/** Returns the first key after all keys of a namespace. */
export function endOfNamespace(namespace: string): string {
  // '0' follows '/'.
  return `${namespace}0`;
}
