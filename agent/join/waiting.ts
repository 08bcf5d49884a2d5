/** Reports every few seconds what a command is waiting for, and why. */
import type { Clock } from '#api/kit/clock.ts';

export interface WaitingReport {
  /** Sets the current subject of the wait. */
  for(what: string): void;
  /** Sets the reason for the wait. */
  because(reason: string): void;
  stop(): void;
}

const EVERY_MS = 5000;
const FIRST_MS = 2000;

/** @param say receives complete sentences, the first after two seconds */
export function createWaitingReport(
  clock: Pick<Clock, 'monotonic' | 'setTimer'>,
  say: (text: string) => void,
): WaitingReport {
  let what = '';
  let why = '';
  let sinceMs = clock.monotonic();
  const report = (): void => {
    const seconds = Math.round((clock.monotonic() - sinceMs) / 1000);
    if (what !== '') say(`waiting for ${what} (${seconds} s)${why === '' ? '' : `: ${why}`}`);
    timer = clock.setTimer(report, EVERY_MS);
  };
  let timer = clock.setTimer(report, FIRST_MS);
  return {
    for(next) {
      if (next === what) return;
      [what, why, sinceMs] = [next, '', clock.monotonic()];
    },
    because: (reason) => void (why = reason),
    stop: () => timer.cancel(),
  };
}
