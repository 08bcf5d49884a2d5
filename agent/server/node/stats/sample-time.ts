/** Times of samples: exact inside the agent, because rates over a second or two are made of them, and in whole seconds in
 *  summaries, as upstream writes them. Pure. */
import { formatTimeNanos } from '#api/meta/time.ts';

const NS_PER_MS = 1_000_000n;

/** Exact to the millisecond. */
export const sampleTime = (unixMs: number): string => formatTimeNanos(BigInt(Math.trunc(unixMs)) * NS_PER_MS);

/** `2026-05-04T03:02:01` */
const WHOLE_LENGTH = 19;
const TIMES: ReadonlySet<string> = new Set(['time', 'startTime']);

function shown(key: string, value: unknown): unknown {
  if (typeof value === 'string') return TIMES.has(key) ? `${value.slice(0, WHOLE_LENGTH)}Z` : value;
  if (Array.isArray(value)) return value.map((item) => shown('', item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shown(name, member)]));
}

/** A copy of a summary, or of a part of it, with times in whole seconds. */
export const withWholeSeconds = (summary: object): unknown => shown('', summary);
