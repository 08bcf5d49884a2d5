/** Strains one regular expression with all attacks on it, and says whether its time grows out of proportion. */
import { type Attack, attacksOn, attackText } from './attacks.ts';
import { findSteepGrowth, LONGEST, leastMs, nsPerCharacter } from './growth.ts';

/** The short ones are for patterns whose time doubles with each character: from one to the next these must end, too. */
const SHORT_LENGTHS = [16, 24, 32, 64, 256];
/** A text so short that takes longer has shown enough. */
const HOPELESS_MS = 5;
/** By length, how long linear work takes a small part of; what takes longer is looked at closely. */
const SUSPECT_MS: readonly (readonly [number, number])[] = [
  [2048, 0.2],
  [16_384, 0.5],
];
/** At once, or after a few characters: no longer text takes longer. */
const NEXT_TO_NOTHING_MS = 0.01;
/** More than that for a character of the longest text, and it is looked at closely. */
const SUSPECT_NS = 40;

const runOf =
  (pattern: RegExp, text: string): (() => unknown) =>
  () => {
    pattern.lastIndex = 0;
    if (!pattern.global) return pattern.exec(text);
    // Each match, without a result that the collector would have to carry about.
    for (let last = -1; pattern.test(text); last = pattern.lastIndex) {
      if (pattern.lastIndex === last) pattern.lastIndex += 1;
    }
    return undefined;
  };

const show = (attack: Attack, fault: string): string =>
  `${JSON.stringify(attack).slice(0, 200)} takes ${fault}`;

/** @returns the first attack that a pattern does not withstand, with its times */
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
  // The longest text is read when one that is not so long has shown that it ends.
  const isFast = [LONGEST / 16, LONGEST].every(
    (length) => nsPerCharacter({ length, ms: leastMs(prepare(length), 1) }) < SUSPECT_NS,
  );
  if (isFast) return undefined;
  const steep = findSteepGrowth(prepare, { from: 4096 });
  return steep === undefined ? undefined : show(attack, steep);
}

/** Milliseconds for the longest of some short texts, or what is wrong. */
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
