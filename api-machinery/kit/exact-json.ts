/** Makes `JSON.stringify` write a bigint as a number. Importing this file installs that for the whole
 *  program: every module that parses such values or receives them from another thread imports it. Without it
 *  `JSON.stringify` throws at a bigint, so no code can depend on the replaced behavior. */

declare global {
  interface JSON {
    /** Part of the language since 2025; the compiler's library does not declare it yet. */
    rawJSON(text: string): unknown;
  }
}

function writeDigits(this: bigint): unknown {
  return JSON.rawJSON(this.toString());
}

// oxlint-disable-next-line eslint/no-extend-native -- the language calls this method and does not define it
Object.defineProperty(BigInt.prototype, 'toJSON', { value: writeDigits, configurable: true, writable: true });
