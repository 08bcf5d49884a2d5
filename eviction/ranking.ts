/** Ranks pods for eviction, and formats the eviction message. Pure.
 *  Source: upstream's eviction manager (`rankMemoryPressure` and similar, `evictionMessage`), release 1.24. */
import { type Scarce, SIGNAL_FACTS, type Signal } from './signals.ts';

/** Usage of the scarce resource by one container of a candidate. */
export interface ContainerUse {
  readonly name: string;
  /** In the unit of the signal; undefined if unknown. */
  readonly used: number | undefined;
  readonly requested: number;
}

export interface Candidate<T> {
  readonly pod: T;
  readonly priority: number;
  /** Must not be evicted: a critical pod, or one that would not be started elsewhere. */
  readonly critical: boolean;
  /** Usage of the whole pod, including its volumes; undefined if unknown. */
  readonly used: number | undefined;
  readonly requested: number;
  readonly containers: readonly ContainerUse[];
}

/** Process IDs and inodes cannot be requested, so no pod exceeds its request. */
const REQUESTABLE: ReadonlySet<Scarce> = new Set<Scarce>(['memory', 'disk']);

type Compare = (one: Candidate<unknown>, other: Candidate<unknown>) => number;

const flag = (value: boolean): number => (value ? 0 : 1);

/** Unknown usage comes first: it may be the cause. */
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

/** Returns the candidates in order of eviction, without spared ones. Stable. */
export function rank<T>(signal: Signal, candidates: readonly Candidate<T>[]): readonly Candidate<T>[] {
  const compare = REQUESTABLE.has(SIGNAL_FACTS[signal].scarce) ? BY_REQUEST : BY_USE;
  return candidates.filter(({ critical }) => !critical).toSorted(compare);
}

/** Formats an amount with its suffix, such as `1536Mi`. */
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

/** Prefix of the message for pods that were evicted under node pressure. */
export const NODE_WAS_LOW = 'The node was low on resource: ';

/** The resource under pressure, for the message. */
export interface Shortage {
  readonly signal: Signal;
  readonly available: number;
  /** Minimum available amount. */
  readonly least: number;
}

/** Returns upstream's eviction message: the resource, the threshold, and containers that exceeded their
 *  requests. */
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
