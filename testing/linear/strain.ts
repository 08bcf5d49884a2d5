/** Runs all attacks on one regular expression, and reports superlinear time. */
import { type Attack, attacksOn, attackText } from './attacks.ts';
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

const OVERFLOW_ATTEMPTS = 3;

/** Whether the engine exhausts its stack on the text each time: once may be for want of memory beside it. */
function overflows(run: () => unknown): boolean {
  for (let attempt = 0; attempt < OVERFLOW_ATTEMPTS; attempt += 1) {
    try {
      run();
      return false;
    } catch (thrown) {
      if (!(thrown instanceof RangeError)) throw thrown;
    }
  }
  return true;
}

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
  if (overflows(prepare(LONGEST / 16)) || overflows(prepare(LONGEST)))
    return show(attack, 'all of the stack');
  // The longest text is read only after a shorter one has finished in time.
  const isFast = [LONGEST / 16, LONGEST].every((length) => {
    let ms = 0;
    // Consistent exhaustion is reported above.
    overflows(() => {
      ms = leastMs(prepare(length), 1);
    });
    return nsPerCharacter({ length, ms }) < SUSPECT_NS;
  });
  if (isFast) return undefined;
  const steep = findSteepGrowth(prepare, { from: 4096 });
  return steep === undefined ? undefined : show(attack, steep);
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
