/** Makes a rate of a counter that only grows, from what it was when it was last looked at. */

export interface Rates {
  /** In ns of processor time per second; `undefined` at the first look.
   *  @param atNs when the counter had this value */
  rate(key: string, usedNs: number, atNs: number): number | undefined;
  /** Forgets everything else. */
  keep(keys: ReadonlySet<string>): void;
}

/** A rate over less says little. */
const LEAST_NS = 500_000_000;
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
      if (before !== undefined && passedNs < LEAST_NS && usedNs >= before.usedNs) return before.rate;
      // A counter that went back is another one.
      const isContinued = before !== undefined && usedNs >= before.usedNs;
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
