/** Computes rates of monotonic counters from successive samples. */

export interface Rates {
  /** Returns the rate in ns of CPU time per second; `undefined` for the first sample, and after a long gap.
   *  @param atNs time of the sample */
  rate(key: string, usedNs: number, atNs: number): number | undefined;
  /** Removes all other keys. */
  keep(keys: ReadonlySet<string>): void;
}

/** Minimum interval of a meaningful rate, in ms. */
export const LEAST_RATE_MS = 500;

const NS_PER_MS = 1_000_000;
/** Maximum interval of a current rate. */
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
      // A counter that decreased has been reset.
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
