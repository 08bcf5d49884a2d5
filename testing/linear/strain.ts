/** Runs all attacks on one regular expression, and reports superlinear time and exhausted stacks. */
import { setFlagsFromString } from 'node:v8';
import { type Attack, attacksOn, attackText, stackAttacksOn } from './attacks.ts';
import { findSteepGrowth, LONGEST, leastMs, nsPerCharacter } from './growth.ts';

/** The short lengths are for exponential patterns, which must finish from one length to the next. */
const SHORT_LENGTHS = [16, 24, 32, 64, 256];
/** A short text that takes longer is sufficient proof. */
const HOPELESS_MS = 5;
/** Times by length that linear work does not approach; longer times are measured closely. */
const SUSPECT_MS: readonly (readonly [number, number])[] = [
  [2048, 0.2],
  [16_384, 0.5],
];
/** Fails at once, or after a few characters: longer texts do not take longer. */
const NEXT_TO_NOTHING_MS = 0.01;
/** Nanoseconds per character of the longest text above which growth is measured closely. */
const SUSPECT_NS = 40;

const runOf =
  (pattern: RegExp, text: string): (() => unknown) =>
  () => {
    pattern.lastIndex = 0;
    if (!pattern.global) return pattern.exec(text);
    // All matches, without results that would burden the garbage collector.
    for (let last = -1; pattern.test(text); last = pattern.lastIndex) {
      if (pattern.lastIndex === last) pattern.lastIndex += 1;
    }
    return undefined;
  };

const show = (attack: Attack, reason: string): string =>
  `${JSON.stringify(attack).slice(0, 200)} takes ${reason}`;

/** @returns the first attack on which the pattern is too slow, with its times */
export function findWeakness(pattern: RegExp): string | undefined {
  let worst: { readonly attack: Attack; readonly ms: number } | undefined;
  for (const attack of attacksOn(pattern)) {
    const measured = tryAttack(pattern, attack);
    if (typeof measured === 'string') return show(attack, measured);
    if (measured > (worst?.ms ?? 0)) worst = { attack, ms: measured };
  }
  if (worst === undefined || worst.ms < NEXT_TO_NOTHING_MS) return undefined;
  const { attack } = worst;
  const prepare = (length: number): (() => unknown) => runOf(pattern, attackText(attack, length));
  // The longest text is read only after a shorter one has finished in time.
  const isFast = [LONGEST / 16, LONGEST].every(
    (length) => nsPerCharacter({ length, ms: leastMs(prepare(length), 1) }) < SUSPECT_NS,
  );
  if (isFast) return undefined;
  const steep = findSteepGrowth(prepare, { from: 4096 });
  return steep === undefined ? undefined : show(attack, steep);
}

/** Reports a text that exhausts the engine's stack. V8 stops optimizing regular expressions in a process that has
 *  compiled many of them; they need up to three times the stack then.
 *  @returns the first such text */
export function findOverflow(pattern: RegExp): string | undefined {
  setFlagsFromString('--no-regexp-optimization');
  try {
    // Another source: V8 reuses the code of an equal one.
    const unoptimized = new RegExp(`(?:${pattern.source})`, pattern.flags);
    for (const attack of stackAttacksOn(pattern)) {
      try {
        runOf(unoptimized, attackText(attack, LONGEST))();
      } catch (thrown) {
        if (!(thrown instanceof RangeError)) throw thrown;
        return show(attack, 'all of the stack');
      }
    }
    return undefined;
  } finally {
    setFlagsFromString('--regexp-optimization');
  }
}

/** Returns the milliseconds for the longest of some short texts, or an error. */
function tryAttack(pattern: RegExp, attack: Attack): number | string {
  const prepare = (length: number): (() => unknown) => runOf(pattern, attackText(attack, length));
  for (const length of SHORT_LENGTHS) {
    const run = prepare(length);
    if (onceMs(run) < HOPELESS_MS) continue;
    const ms = leastMs(run);
    if (ms > HOPELESS_MS) return `${length}: ${Math.round(ms)} ms`;
  }
  let lastMs = 0;
  for (const [length, suspectMs] of SUSPECT_MS) {
    const run = prepare(length);
    lastMs = onceMs(run);
    if (lastMs > suspectMs) lastMs = leastMs(run);
    const steep = lastMs > suspectMs ? findSteepGrowth(prepare, { from: 2048 }) : undefined;
    if (steep !== undefined) return steep;
  }
  return lastMs;
}

function onceMs(run: () => unknown): number {
  const beganMs = performance.now();
  run();
  return performance.now() - beganMs;
}
