/** How long requests took, from the server's own histogram. Pure. */

/** Requests by upper bound of their time in seconds, of one verb. */
type Buckets = ReadonlyMap<number, number>;

/** By verb, as the server names it. */
export type VerbCounts = ReadonlyMap<string, Buckets>;

export interface VerbTimes {
  readonly verb: string;
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const SAMPLE = /^apiserver_request_duration_seconds_bucket\{([^}]*)\} (\S+)$/gm;
/** These take as long as their client likes. */
const ENDLESS: ReadonlySet<string> = new Set(['WATCH', 'CONNECT']);

const labelIn = (labels: string, name: string): string =>
  new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? '';

/** Reads the text of `/metrics`. */
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

/** Time in ms below which the share of the requests lies; within a bucket they count as spread evenly. */
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

/** What came between two looks, the verbs with most requests first. */
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
