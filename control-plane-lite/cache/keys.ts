/** The order of keys: that of their UTF-8 bytes, which is the store's. */

const SURROGATE_FIRST = 0xd800;
const SURROGATE_LAST = 0xdfff;

/** UTF-16 units in the order of the code points they belong to: surrogates stand for what comes after U+FFFF. */
function weight(unit: number): number {
  return unit >= SURROGATE_FIRST && unit <= SURROGATE_LAST ? unit + 0x10_000 : unit;
}

/** Negative, zero or positive as the bytes of `a` come before, are, or come after those of `b`. */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left !== right) return weight(left) - weight(right);
  }
  return a.length - b.length;
}

/** First key that comes after every key of a namespace, and after nothing else that comes after those. */
export function endOfNamespace(namespace: string): string {
  // '0' follows '/'.
  return `${namespace}0`;
}
