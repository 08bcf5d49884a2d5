/** Request durations from the server's histogram. Pure. */

/** Number of requests of one verb by upper bound of their duration in seconds. */
type Buckets = ReadonlyMap<number, number>;

/** By verb, in the server's naming. */
export type VerbCounts = ReadonlyMap<string, Buckets>;

export interface VerbTimes {
  readonly verb: string;
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const SAMPLE = /^apiserver_request_duration_seconds_bucket\{([^}]*)\} (\S+)$/gm;
/** The client determines the duration of these. */
const ENDLESS: ReadonlySet<string> = new Set(['WATCH', 'CONNECT']);

const labelIn = (labels: string, name: string): string =>
  new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? '';

/** Parses the text of `/metrics`. */
export function parseVerbCounts(text: string): VerbCounts {
  const verbs = new Map<string, Map<number, number>>();
  for (const [, labels = '', value = ''] of text.matchAll(SAMPLE)) {
    const verb = labelIn(labels, 'verb');
    if (ENDLESS.has(verb)) continue;
    const bound = labelIn(labels, 'le');
    const seconds = bound === '+Inf' ? Number.POSITIVE_INFINITY : Number(bound);
    const buckets = verbs.get(verb) ?? new Map<number, number>();
    verbs.set(verb, buckets);
    buckets.set(seconds, (buckets.get(seconds) ?? 0) + Number(value));
  }
  return verbs;
}

/** Returns the duration in ms below which the share of the requests lies, with linear interpolation within
 *  a bucket. */
function quantileMs(buckets: Buckets, share: number): number {
  const bounds = [...buckets].toSorted(([a], [b]) => a - b);
  const rank = (bounds.at(-1)?.[1] ?? 0) * share;
  let [below, fewer] = [0, 0];
  for (const [bound, count] of bounds) {
    if (count >= rank) {
      if (!Number.isFinite(bound) || count === fewer) return below * 1000;
      return (below + ((bound - below) * (rank - fewer)) / (count - fewer)) * 1000;
    }
    [below, fewer] = [bound, count];
  }
  return below * 1000;
}

/** Returns the requests between two reads, the most frequent verbs first. */
export function verbTimes(before: VerbCounts, after: VerbCounts): readonly VerbTimes[] {
  const times = [...after].flatMap(([verb, buckets]): VerbTimes[] => {
    const earlier = before.get(verb);
    const fresh = new Map([...buckets].map(([bound, count]) => [bound, count - (earlier?.get(bound) ?? 0)]));
    const count = fresh.get(Number.POSITIVE_INFINITY) ?? 0;
    if (count === 0) return [];
    return [{ verb, count, p50Ms: quantileMs(fresh, 0.5), p99Ms: quantileMs(fresh, 0.99) }];
  });
  return times.toSorted((a, b) => b.count - a.count);
}
