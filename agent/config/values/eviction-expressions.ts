/** Parser of eviction settings: signals, thresholds as quantity or percentage, grace periods.
 *  Source: eviction settings, document 3 §4.3; `facts/nodeagent-config.json` (0% and 100% disable a
 *  threshold). */

import { suggestion } from '#api/kit/text/suggest.ts';
import { DurationError, parseDurationMs } from '#api/meta/duration.ts';
import { compareQuantities, isQuantity } from '#api/meta/quantity.ts';
import { isSignal, SIGNALS } from '#eviction/signals.ts';
import { errorAt, type PairSyntax, splitPairs } from './pairs.ts';
import { ok, type Parsed, unlessErrors, type ValueError } from './parsed.ts';

const SYNTAX: PairSyntax = { separator: '<', example: 'signal<value, such as memory.available<100Mi' };
const PERCENTAGE = /^\d+(?:\.\d+)?%$/;

/** Returns the error of a name that is not an eviction signal. */
export function signalError(signal: string): string | undefined {
  if (isSignal(signal)) return undefined;
  return `"${signal}" is not an eviction signal${suggestion(signal, SIGNALS)} (known: ${SIGNALS.join(', ')})`;
}

/** Returns the error of a text that is not an amount: a quantity above zero, or a percentage. `zero` allows a
 *  quantity of zero. */
export function amountError(amount: string, zero = false): string | undefined {
  if (amount.endsWith('%')) {
    if (!PERCENTAGE.test(amount)) return `"${amount}" is not a percentage; write a number and %, such as 10%`;
    return Number(amount.slice(0, -1)) > 100 ? `"${amount}" is above 100%` : undefined;
  }
  if (!isQuantity(amount))
    return `"${amount}" is neither a quantity such as 100Mi nor a percentage such as 10%`;
  const sign = compareQuantities(amount, '0');
  if (sign < 0 || (sign === 0 && !zero)) return `"${amount}" must be above zero`;
  return undefined;
}

/** Returns the error of a text that is not a grace period: a duration above zero. */
export function graceError(period: string): string | undefined {
  try {
    return parseDurationMs(period) > 0 ? undefined : `"${period}" must be longer than 0s`;
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
    return `"${period}" is not a duration such as 1m30s`;
  }
}

function parseExpressions(text: string): Parsed<readonly (readonly [string, string])[]> {
  const split = splitPairs(text, SYNTAX);
  const errors: ValueError[] = [...split.errors];
  for (const { name, value, at, valueAt } of split.pairs) {
    const signal = signalError(name);
    const amount = amountError(value);
    if (signal !== undefined) errors.push(errorAt(text, at, signal));
    if (amount !== undefined) errors.push(errorAt(text, valueAt, amount));
  }
  return unlessErrors(
    errors,
    split.pairs.map(({ name, value }) => [name, value] as const),
  );
}

/** Reads all occurrences of the flag, such as `memory.available<100Mi,nodefs.available<10%`, into a map. A
 *  later occurrence replaces a signal of an earlier one; within one text a signal may occur once. */
export function parseThresholdTexts(texts: readonly string[]): Parsed<Readonly<Record<string, string>>> {
  const read = texts.map(parseExpressions);
  const errors = read.flatMap((one) => (one.kind === 'errors' ? one.errors : []));
  if (errors.length > 0) return { kind: 'errors', errors };
  return ok(Object.fromEntries(read.flatMap((one) => (one.kind === 'ok' ? one.value : []))));
}
