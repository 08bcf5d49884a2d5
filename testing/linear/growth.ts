/** Growth of the time of some work with the length of its input. Counts only the CPU time of this thread,
 *  so that other work of the machine, including garbage collection helpers, is ignored. */

/** Creates an input of about that length, and returns the work on it, which alone is measured. */
export type Prepare = (length: number) => () => unknown;

export interface GrowthOptions {
  readonly from?: number;
  readonly to?: number;
  /** Nanoseconds per character below which nothing counts as steep: caches and other work of the machine
   *  change the times of a fast scan by more than the allowed growth. Superlinear work is slower for long
   *  inputs. */
  readonly fastNs?: number;
}

const FAST_NS = 200;

/** Maximum size of a request body of the API server. */
export const LONGEST: number = 3 * 1024 * 1024;
const SHORTEST = 1024;
/** Shorter times are mostly clock noise. */
const MEASURABLE_MS = 1;
const MAX_PER_DOUBLING = 2.5;
/** Linear work on the longest input takes a fraction of it. */
const FAR_TOO_LONG_MS = 1500;
const ATTEMPTS = 3;

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Returns the minimum CPU time of some runs, fewer if they are long. */
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

/** Doubles the length up to the longest. @returns growth that exceeds the limit: more than 2.5 times per
 *  doubling, twice in a row, so that a single step (a full cache, a collection) does not count;
 *  `undefined` if there was none */
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

/** Reports whether the time grew faster than allowed. */
const isSteep = (first: Measured, last: Measured, fastNs: number): boolean =>
  first.ms >= MEASURABLE_MS &&
  nsPerCharacter(last) > fastNs &&
  Math.log(last.ms / first.ms) > Math.log(MAX_PER_DOUBLING) * Math.log2(last.length / first.length);

/** A busy machine makes times longer, never shorter: use the minimum of several runs. */
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
