/** Eviction thresholds: parsing, resolution to amounts, and evaluation. Pure.
 *  Source: eviction thresholds, document 3 §4.3; upstream's eviction manager, release 1.24. */
import { parseDurationMs } from '#api/meta/duration.ts';
import { value } from '#api/meta/quantity.ts';
import { isSignal, type Observation, type Observations, type Signal } from './signals.ts';

/** A share of the signal's capacity, or a number of bytes, inodes or process IDs. */
export type Amount =
  | { readonly kind: 'number'; readonly number: number }
  | { readonly kind: 'share'; readonly share: number };

export interface Threshold {
  readonly signal: Signal;
  /** The threshold is met when less than this is available. */
  readonly amount: Amount;
  /** Minimum reclaim: amount to free beyond the threshold once it was met. */
  readonly minReclaim?: Amount;
  /** Grace period of the threshold, in ms: 0 for a hard one, which also leaves pods no grace period. */
  readonly graceMs: number;
  readonly hard: boolean;
}

export interface ThresholdSettings {
  readonly evictionHard: Readonly<Record<string, string>>;
  readonly evictionSoft: Readonly<Record<string, string>>;
  readonly evictionSoftGracePeriod: Readonly<Record<string, string>>;
  readonly evictionMinimumReclaim: Readonly<Record<string, string>>;
  /** Whether pods together are limited to allocatable, so that they can exhaust memory on their own. */
  readonly allocatableEnforced: boolean;
}

/** `10%` or a quantity. */
export function parseAmount(text: string): Amount {
  if (text.endsWith('%')) return { kind: 'share', share: Number(text.slice(0, -1)) / 100 };
  return { kind: 'number', number: value(text) };
}

/** Thresholds of 0 % and 100 % are disabled. */
function isOff(amount: Amount): boolean {
  return amount.kind === 'share' && (amount.share === 0 || amount.share === 1);
}

function minReclaimOf(
  settings: ThresholdSettings,
  signal: string,
): { readonly minReclaim: Amount } | undefined {
  const text = settings.evictionMinimumReclaim[signal];
  return text === undefined ? undefined : { minReclaim: parseAmount(text) };
}

/** Parses thresholds of validated settings. A hard memory threshold also applies to the allocatable memory of
 *  pods. */
export function readThresholds(settings: ThresholdSettings): readonly Threshold[] {
  const read = (texts: Readonly<Record<string, string>>, hard: boolean): readonly Threshold[] =>
    Object.entries(texts).flatMap(([signal, text]) => {
      const amount = parseAmount(text);
      if (!isSignal(signal) || isOff(amount)) return [];
      const graceMs = hard ? 0 : parseDurationMs(settings.evictionSoftGracePeriod[signal] ?? '0s');
      return [{ signal, amount, graceMs, hard, ...minReclaimOf(settings, signal) }];
    });
  const own = [...read(settings.evictionHard, true), ...read(settings.evictionSoft, false)];
  const memory = own.find(({ signal, hard }) => signal === 'memory.available' && hard);
  if (memory === undefined || !settings.allocatableEnforced) return own;
  if (own.some(({ signal }) => signal === 'allocatableMemory.available')) return own;
  return [...own, { ...memory, signal: 'allocatableMemory.available' }];
}

/** Returns the amount in the unit of the signal. */
export function amountOf(amount: Amount, capacity: number): number {
  return amount.kind === 'number' ? amount.number : Math.floor(amount.share * capacity);
}

/** Returns the minimum available amount.
 *  @param reclaiming the threshold was met before, so that the minimum reclaim is included */
export function leastAvailable(threshold: Threshold, capacity: number, reclaiming: boolean): number {
  const least = amountOf(threshold.amount, capacity);
  const more =
    reclaiming && threshold.minReclaim !== undefined ? amountOf(threshold.minReclaim, capacity) : 0;
  return least + more;
}

export function isMet(threshold: Threshold, seen: Observation, reclaiming: boolean): boolean {
  return seen.available < leastAvailable(threshold, seen.capacity, reclaiming);
}

/** Returns the thresholds that are met by the observations. */
export function metBy(
  thresholds: readonly Threshold[],
  observations: Observations,
  reclaiming: boolean,
): readonly Threshold[] {
  return thresholds.filter((threshold) => {
    const seen = observations.get(threshold.signal);
    return seen !== undefined && isMet(threshold, seen, reclaiming);
  });
}
