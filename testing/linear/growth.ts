/** How the time of some work grows with the length of its input. Counts the processor time of this thread alone, so
 *  that what else the machine does, the collector's helpers included, doesn't show. */

/** Makes an input of about that length, and returns the work on it, which alone is measured. */
export type Prepare = (length: number) => () => unknown;

export interface GrowthOptions {
  readonly from?: number;
  readonly to?: number;
  /** Nanoseconds for a character below which nothing is steep: the machine's caches and its other work change the times
   *  of a fast scan by more than the growth allowed. What grows faster than its input is slower for long ones. */
  readonly fastNs?: number;
}

const FAST_NS = 200;

/** As much as the API server reads of a body. */
export const LONGEST: number = 3 * 1024 * 1024;
const SHORTEST = 1024;
/** Times below are mostly the clock's. */
const MEASURABLE_MS = 1;
const MOST_PER_DOUBLING = 2.5;
/** Linear work on the longest input takes a fraction of it. */
const FAR_TOO_LONG_MS = 1500;
const ATTEMPTS = 3;

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** The least processor time of some runs, few where they are long. */
export function leastMs(work: () => unknown, runs = 2): number {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < runs; run += 1) {
    const beganMs = threadMs();
    work();
    least = Math.min(least, threadMs() - beganMs);
    if (least > 100 || least < MEASURABLE_MS / 4) break;
  }
  return least;
}

/** Doubles the length until the longest. @returns what grew faster than it may: more than 2.5 times per doubling, twice
 *  in a row, so that a step (a cache that is full, a collection) is not taken for growth; `undefined` if nothing did */
export function findSteepGrowth(prepare: Prepare, options: GrowthOptions = {}): string | undefined {
  const { from = SHORTEST, to = LONGEST, fastNs = FAST_NS } = options;
  const times: { readonly length: number; readonly ms: number }[] = [];
  for (let length = from; ; length = Math.min(to, length * 2)) {
    times.push({ length, ms: leastMs(prepare(length)) });
    const [first, , last] = times.slice(-3);
    if (first !== undefined && last !== undefined && isSteep(first, last, fastNs)) {
      const again = measureAgain(prepare, first, last, fastNs);
      if (again !== undefined) return again;
    }
    const now = times.at(-1);
    if (now !== undefined && now.ms > FAR_TOO_LONG_MS) return `${now.length}: ${Math.round(now.ms)} ms`;
    if (length >= to) return undefined;
  }
}

export interface Measured {
  readonly length: number;
  readonly ms: number;
}

export const nsPerCharacter = ({ length, ms }: Measured): number => (ms * 1e6) / length;

/** Whether the time grew faster than it may. */
const isSteep = (first: Measured, last: Measured, fastNs: number): boolean =>
  first.ms >= MEASURABLE_MS &&
  nsPerCharacter(last) > fastNs &&
  Math.log(last.ms / first.ms) > Math.log(MOST_PER_DOUBLING) * Math.log2(last.length / first.length);

/** A machine that is busy makes times longer, never shorter: the least of several counts. */
function measureAgain(prepare: Prepare, first: Measured, last: Measured, fastNs: number): string | undefined {
  let [short, long] = [first, last];
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const again = [short, long].map(({ length, ms }) => ({
      length,
      ms: Math.min(ms, leastMs(prepare(length))),
    }));
    [short = short, long = long] = again;
    if (!isSteep(short, long, fastNs)) return undefined;
  }
  return `${short.length}: ${short.ms.toFixed(1)} ms, ${long.length}: ${long.ms.toFixed(1)} ms`;
}
