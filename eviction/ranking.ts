/** Whom to evict, and the sentence that says why. Pure.
 *  Source: upstream's eviction manager (`rankMemoryPressure` and its like, `evictionMessage`), release 1.24. */
import { type Scarce, SIGNAL_FACTS, type Signal } from './signals.ts';

/** One container of a candidate, as far as it uses what is scarce. */
export interface ContainerUse {
  readonly name: string;
  /** In the unit of the signal; undefined where it could not be measured. */
  readonly used: number | undefined;
  readonly requested: number;
}

export interface Candidate<T> {
  readonly pod: T;
  readonly priority: number;
  /** Must not be evicted: it holds the node or the cluster up, or nobody would start it elsewhere. */
  readonly critical: boolean;
  /** What the whole pod uses, beyond its containers what it keeps in volumes; undefined where nothing could be
   *  measured. */
  readonly used: number | undefined;
  readonly requested: number;
  readonly containers: readonly ContainerUse[];
}

/** Process numbers and inodes can't be requested: there, nobody exceeds anything. */
const REQUESTABLE: ReadonlySet<Scarce> = new Set<Scarce>(['memory', 'disk']);

type Compare = (one: Candidate<unknown>, other: Candidate<unknown>) => number;

const flag = (value: boolean): number => (value ? 0 : 1);

/** What nothing is known of comes first: it may be the one. */
const unknownFirst: Compare = (one, other) => flag(one.used === undefined) - flag(other.used === undefined);

const exceeds = ({ used = 0, requested }: Candidate<unknown>): boolean => used > requested;
const exceedingFirst: Compare = (one, other) => flag(exceeds(one)) - flag(exceeds(other));

const lowestPriorityFirst: Compare = (one, other) => one.priority - other.priority;

const beyond = ({ used = 0, requested }: Candidate<unknown>): number => used - requested;
const furthestBeyondFirst: Compare = (one, other) => beyond(other) - beyond(one);

const mostFirst: Compare = (one, other) => (other.used ?? 0) - (one.used ?? 0);

function inOrder(...compares: readonly Compare[]): Compare {
  return (one, other) => {
    for (const compare of compares) {
      const result = compare(one, other);
      if (result !== 0) return result;
    }
    return 0;
  };
}

const BY_REQUEST = inOrder(unknownFirst, exceedingFirst, lowestPriorityFirst, furthestBeyondFirst);
const BY_USE = inOrder(lowestPriorityFirst, mostFirst);

/** The candidates in the order in which they would be evicted, without those that must not be. Stable. */
export function rank<T>(signal: Signal, candidates: readonly Candidate<T>[]): readonly Candidate<T>[] {
  const compare = REQUESTABLE.has(SIGNAL_FACTS[signal].scarce) ? BY_REQUEST : BY_USE;
  return candidates.filter(({ critical }) => !critical).toSorted(compare);
}

/** An amount as people read it: `1,5 GiB` would be locale, so `1536Mi`. */
export function formatAmount(signal: Signal, amount: number): string {
  if (SIGNAL_FACTS[signal].unit === 'count') return String(amount);
  const units = ['', 'Ki', 'Mi', 'Gi', 'Ti'];
  let whole = Math.round(amount);
  let unit = 0;
  while (unit < units.length - 1 && whole >= 10_240) {
    whole = Math.round(whole / 1024);
    unit += 1;
  }
  return `${whole}${units[unit]}`;
}

/** How messages begin of pods that were evicted because the node was short of something. */
export const NODE_WAS_LOW = 'The node was low on resource: ';

/** What was too little, for the message. */
export interface Shortage {
  readonly signal: Signal;
  readonly available: number;
  /** Least that has to be available. */
  readonly least: number;
}

/** Why this pod was evicted, in upstream's words: what the node was short of, by how much, and who used more than it
 *  asked for. */
export function explain(shortage: Shortage, evicted: Candidate<unknown>): string {
  const { signal, available, least } = shortage;
  const { resource, scarce } = SIGNAL_FACTS[signal];
  const amounts = `Threshold quantity: ${formatAmount(signal, least)}, available: ${formatAmount(signal, available)}.`;
  const guilty = REQUESTABLE.has(scarce)
    ? evicted.containers.filter(({ used, requested }) => used !== undefined && used > requested)
    : [];
  const parts = guilty.map(
    ({ name, used = 0, requested }) =>
      `Container ${name} was using ${formatAmount(signal, used)}, which exceeds its request of ${formatAmount(signal, requested)}.`,
  );
  return [`${NODE_WAS_LOW}${resource}.`, amounts, ...parts].join(' ');
}
