/** The language of eviction settings: signals, thresholds as quantity or percentage, grace periods.
 *  Source: document 3, section 4.3; `facts/nodeagent-config.json` (0% and 100% disable a threshold). */

import { suggestion } from '#api/kit/suggest.ts';
import { DurationError, parseDurationMs } from '#api/meta/duration.ts';
import { compareQuantities, isQuantity } from '#api/meta/quantity.ts';
import { isSignal, SIGNALS } from '#eviction/signals.ts';
import { faultAt, type PairSyntax, splitPairs } from './values/pairs.ts';
import { ok, type Parsed, unlessFaults, type ValueFault } from './values/parsed.ts';

const SYNTAX: PairSyntax = { separator: '<', example: 'signal<value, such as memory.available<100Mi' };
const PERCENTAGE = /^\d+(?:\.\d+)?%$/;

/** Why a name is no eviction signal. */
export function signalFault(signal: string): string | undefined {
  if (isSignal(signal)) return undefined;
  return `"${signal}" is no eviction signal${suggestion(signal, SIGNALS)} (there are ${SIGNALS.join(', ')})`;
}

/** Why a text is no amount: a quantity above zero, or a percentage. `zero` allows a quantity of zero. */
export function amountFault(amount: string, zero = false): string | undefined {
  if (amount.endsWith('%')) {
    if (!PERCENTAGE.test(amount)) return `"${amount}" is no percentage; write a number and %, such as 10%`;
    return Number(amount.slice(0, -1)) > 100 ? `"${amount}" is above 100%` : undefined;
  }
  if (!isQuantity(amount))
    return `"${amount}" is neither a quantity such as 100Mi nor a percentage such as 10%`;
  const sign = compareQuantities(amount, '0');
  if (sign < 0 || (sign === 0 && !zero)) return `"${amount}" must be above zero`;
  return undefined;
}

/** Why a text is no grace period: a duration above zero. */
export function graceFault(period: string): string | undefined {
  try {
    return parseDurationMs(period) > 0 ? undefined : `"${period}" must be longer than 0s`;
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
    return `"${period}" is no duration such as 1m30s`;
  }
}

function parseExpressions(text: string): Parsed<readonly (readonly [string, string])[]> {
  const split = splitPairs(text, SYNTAX);
  const faults: ValueFault[] = [...split.faults];
  for (const { name, value, at, valueAt } of split.pairs) {
    const signal = signalFault(name);
    const amount = amountFault(value);
    if (signal !== undefined) faults.push(faultAt(text, at, signal));
    if (amount !== undefined) faults.push(faultAt(text, valueAt, amount));
  }
  return unlessFaults(
    faults,
    split.pairs.map(({ name, value }) => [name, value] as const),
  );
}

/** Reads `memory.available<100Mi,nodefs.available<10%`, every occurrence of the flag, into a map.
 *  A later occurrence replaces a signal of an earlier one; within one text a signal may stand once. */
export function parseThresholdTexts(texts: readonly string[]): Parsed<Readonly<Record<string, string>>> {
  const read = texts.map(parseExpressions);
  const faults = read.flatMap((one) => (one.kind === 'faults' ? one.faults : []));
  if (faults.length > 0) return { kind: 'faults', faults };
  return ok(Object.fromEntries(read.flatMap((one) => (one.kind === 'ok' ? one.value : []))));
}
