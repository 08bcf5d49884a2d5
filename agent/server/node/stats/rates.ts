/** Makes a rate of a counter that only grows, from what it was when it was last looked at. */

export interface Rates {
  /** In ns of processor time per second; `undefined` at the first look, and after a long time without one.
   *  @param atNs when the counter had this value */
  rate(key: string, usedNs: number, atNs: number): number | undefined;
  /** Forgets everything else. */
  keep(keys: ReadonlySet<string>): void;
}

/** A rate over less says little, in ms. */
export const LEAST_RATE_MS = 500;

const NS_PER_MS = 1_000_000;
/** One over more says nothing of now. */
const MOST_NS = 120_000 * NS_PER_MS;
const NS_PER_SECOND = 1_000_000_000;

interface Sample {
  readonly usedNs: number;
  readonly atNs: number;
  readonly rate: number | undefined;
}

export function createRates(): Rates {
  const samples = new Map<string, Sample>();
  return {
    rate(key, usedNs, atNs) {
      const before = samples.get(key);
      const passedNs = atNs - (before?.atNs ?? 0);
      // A counter that went back is another one.
      const isContinued = before !== undefined && usedNs >= before.usedNs && passedNs <= MOST_NS;
      if (isContinued && passedNs < LEAST_RATE_MS * NS_PER_MS) return before.rate;
      const rate = isContinued
        ? Math.round(((usedNs - before.usedNs) * NS_PER_SECOND) / passedNs)
        : undefined;
      samples.set(key, { usedNs, atNs, rate });
      return rate;
    },
    keep(keys) {
      for (const key of samples.keys()) if (!keys.has(key)) samples.delete(key);
    },
  };
}
