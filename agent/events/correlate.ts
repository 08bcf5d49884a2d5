/** Event correlation against floods: repeats are counted, many messages with one reason are combined, and
 *  events of an object beyond its rate limit are dropped. Pure except for its tables.
 *  Limits as in upstream's event recorder: 10 similar events in 10 minutes are combined; per object a burst
 *  of 25, then one per 5 minutes. */

export interface CorrelateInput {
  /** Key of source, object, type and reason: events that differ only in the message. */
  readonly groupKey: string;
  /** Key of the object, for the rate limit. */
  readonly objectKey: string;
  readonly message: string;
}

export type Correlation =
  | { readonly kind: 'dropped' }
  /** Store it under `key`: a known key is a repeat, a new one a new event. */
  | { readonly kind: 'kept'; readonly key: string; readonly message: string };

export interface Correlator {
  correlate(input: CorrelateInput, nowMs: number): Correlation;
}

export interface CorrelatorLimits {
  readonly combineAfter: number;
  readonly combineWindowMs: number;
  readonly burst: number;
  readonly refillMs: number;
  /** Maximum number of groups and objects; the least recently used is evicted. */
  readonly maxKeys: number;
}

export const UPSTREAM_LIMITS: CorrelatorLimits = {
  combineAfter: 10,
  combineWindowMs: 600_000,
  burst: 25,
  refillMs: 300_000,
  maxKeys: 4096,
};

interface Group {
  readonly messages: Set<string>;
  lastMs: number;
}

interface Bucket {
  tokens: number;
  atMs: number;
}

/** A map that evicts the least recently used entry above `max` entries, and stale entries.
 *  @param isStale reports whether an entry equals a new one */
function createRecent<V>(
  max: number,
  create: (nowMs: number) => V,
  isStale: (entry: V, nowMs: number) => boolean,
  onSize: (size: number) => void,
): (key: string, nowMs: number) => V {
  const entries = new Map<string, V>();

  function forget(nowMs: number): void {
    // Ordered by use: no entry behind the first live one is stale.
    for (const [key, entry] of entries) {
      if (entries.size <= max && !isStale(entry, nowMs)) return;
      entries.delete(key);
    }
  }

  return (key, nowMs) => {
    const entry = entries.get(key) ?? create(nowMs);
    entries.delete(key);
    forget(nowMs);
    entries.set(key, entry);
    onSize(entries.size);
    return entry;
  };
}

/** @param onSize called with the size of a table whenever that may have changed */
export function createCorrelator(
  limits: CorrelatorLimits = UPSTREAM_LIMITS,
  onSize: (size: number) => void = () => undefined,
): Correlator {
  const { maxKeys, combineWindowMs, burst, refillMs } = limits;
  const groupOf = createRecent<Group>(
    maxKeys - 1,
    (nowMs) => ({ messages: new Set(), lastMs: nowMs }),
    ({ lastMs }, nowMs) => nowMs - lastMs > combineWindowMs,
    onSize,
  );
  const bucketOf = createRecent<Bucket>(
    maxKeys - 1,
    (nowMs) => ({ tokens: burst, atMs: nowMs }),
    ({ tokens, atMs }, nowMs) => tokens + (nowMs - atMs) / refillMs >= burst,
    onSize,
  );

  function combine(input: CorrelateInput, nowMs: number): { key: string; message: string } {
    const group = groupOf(input.groupKey, nowMs);
    if (nowMs - group.lastMs > limits.combineWindowMs) group.messages.clear();
    group.lastMs = nowMs;
    if (group.messages.size < limits.combineAfter) group.messages.add(input.message);
    if (group.messages.size < limits.combineAfter) {
      return { key: `${input.groupKey}\n${input.message}`, message: input.message };
    }
    return { key: input.groupKey, message: `(combined from similar events): ${input.message}` };
  }

  function admit(objectKey: string, nowMs: number): boolean {
    const bucket = bucketOf(objectKey, nowMs);
    const refill = Math.max(0, nowMs - bucket.atMs) / limits.refillMs;
    bucket.tokens = Math.min(limits.burst, bucket.tokens + refill);
    bucket.atMs = nowMs;
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }

  return {
    correlate(input, nowMs) {
      const combined = combine(input, nowMs);
      return admit(input.objectKey, nowMs) ? { kind: 'kept', ...combined } : { kind: 'dropped' };
    },
  };
}
