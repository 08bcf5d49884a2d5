/** Registry of the process's long waits: each is logged once, listed while it lasts, and logged when it is
 *  resolved. Short waits leave no trace. */
import type { Clock, Timer } from './clock.ts';
import { asError } from './errno.ts';
import { createListeners } from './listeners.ts';
import type { Logger } from './logger.ts';

/** A wait that has lasted for a while. */
export interface LastingWait {
  /** A noun phrase: `container runtime unix:///run/…`. */
  readonly what: string;
  /** Wall time in ms. */
  readonly sinceMs: number;
  /** Reason, as far as known; otherwise empty. */
  readonly why: string;
}

export interface Wait {
  /** Sets the reason. The newest one wins. */
  because(reason: string): void;
  /** Ends the wait, resolved or not. Idempotent. */
  end(): void;
}

export interface Waits {
  /** Begins a wait. Waits with the same name are listed and logged as one.
   *  @param options `logged`: the caller logs beginning and end itself */
  begin(what: string, why?: string, options?: { readonly logged?: boolean }): Wait;
  /** Registers a wait until the work settles; a failure is logged with its message. */
  during<T>(what: string, work: Promise<T>, why?: string): Promise<T>;
  /** Returns long waits, oldest first. */
  lasting(): readonly LastingWait[];
  /** Called when the list may have changed. @returns the unsubscribe function */
  onChange(listener: () => void): () => void;
  /** Discards all waits without logging, because the program exits. No new ones start. */
  close(): void;
}

/** Reason of a wait for a call whose response is not there yet. */
export const NO_RESPONSE = 'no response yet';

/** Waits are logged after this time, in ms. */
export const LASTING_MS = 5000;

/** Long waits with the same name. */
interface Lasting {
  readonly what: string;
  readonly sinceMs: number;
  readonly startMs: number;
  readonly logged: boolean;
  why: string;
  holders: number;
}

/** Creates the list of long waits, with their log lines. */
function createLasting(clock: Clock, log: Logger, changed: () => void) {
  const groups = new Map<string, Lasting>();
  const warn = ({ logged, what, sinceMs, why }: Lasting): void => {
    const since = new Date(sinceMs).toISOString();
    const fields = { waitingFor: what, since, ...(why === '' ? {} : { reason: why }) };
    if (!logged) log.warn(fields, 'Still waiting');
  };
  return {
    groups,
    add({ what, startMs, logged, why }: Begun): Lasting {
      const known = groups.get(what);
      const sinceMs = Math.round(clock.now() - (clock.monotonic() - startMs));
      const group = known ?? { what, sinceMs, startMs, logged, why, holders: 0 };
      group.holders += 1;
      if (known !== undefined) {
        if (why !== '') known.why = why;
        return group;
      }
      groups.set(what, group);
      warn(group);
      changed();
      return group;
    },
    because(group: Lasting, reason: string): void {
      const isNews = group.why === '';
      if (group.why === reason) return;
      group.why = reason;
      // Logged once, or twice if the reason becomes known later.
      if (isNews) warn(group);
      changed();
    },
    end(group: Lasting, nowMs: number, failure?: string): void {
      group.holders -= 1;
      if (group.holders > 0 || !groups.delete(group.what)) return;
      const afterSeconds = Math.round((nowMs - group.startMs) / 100) / 10;
      const fields = { waitingFor: group.what, afterSeconds };
      if (!group.logged && failure === undefined) log.info(fields, 'Wait resolved');
      if (!group.logged && failure !== undefined) log.warn({ ...fields, reason: failure }, 'Wait failed');
      changed();
    },
  };
}

interface Begun {
  readonly what: string;
  /** By the clock that never goes back. */
  readonly startMs: number;
  readonly logged: boolean;
  why: string;
  /** Once it has lasted. */
  group: Lasting | undefined;
}

/** Calls `add` with those that last. One timer serves all: most waits end soon, and there are many. */
function createPending(clock: Clock, add: (begun: Begun) => void) {
  // All last after the same time, so the first is the next.
  const pending = new Set<Begun>();
  let timer: Timer | undefined;
  function onTime(): void {
    timer = undefined;
    const beforeMs = clock.monotonic() - LASTING_MS;
    for (const begun of pending) {
      if (begun.startMs > beforeMs) break;
      pending.delete(begun);
      add(begun);
    }
    arm();
  }
  function arm(): void {
    const [first] = pending;
    if (first === undefined || timer !== undefined) return;
    timer = clock.setTimer(onTime, first.startMs + LASTING_MS - clock.monotonic());
  }
  return {
    add(begun: Begun): void {
      pending.add(begun);
      if (timer === undefined) arm();
    },
    delete(begun: Begun): void {
      // The timer stays: it ends by itself, and the next wait is not far where waits are many.
      pending.delete(begun);
    },
    clear(): void {
      timer?.cancel();
      pending.clear();
    },
  };
}

export function createWaits({ clock, log }: { readonly clock: Clock; readonly log: Logger }): Waits {
  const listeners = createListeners('long waits');
  let closed = false;
  const lasting = createLasting(clock, log, () => listeners.notify());
  const pending = createPending(clock, (begun) => {
    begun.group = lasting.add(begun);
  });

  function open(what: string, why: string, logged: boolean): Begun {
    const begun: Begun = { what, startMs: clock.monotonic(), logged, why, group: undefined };
    if (!closed) pending.add(begun);
    return begun;
  }

  function end(begun: Begun, failure?: string): void {
    if (begun.group === undefined) pending.delete(begun);
    else lasting.end(begun.group, clock.monotonic(), failure);
  }

  return {
    begin(what, why = '', { logged = false } = {}) {
      const begun = open(what, why, logged);
      let isOpen = true;
      return {
        because(next) {
          if (!isOpen) return;
          begun.why = next;
          if (begun.group !== undefined) lasting.because(begun.group, next);
        },
        end() {
          if (!isOpen) return;
          isOpen = false;
          end(begun);
        },
      };
    },
    during(what, work, why = '') {
      const begun = open(what, why, false);
      work.then(
        () => end(begun),
        (thrown: unknown) => end(begun, asError(thrown).message),
      );
      return work;
    },
    lasting: () =>
      [...lasting.groups.values()]
        .map(({ what, sinceMs, why }) => ({ what, sinceMs, why }))
        .toSorted((one, other) => one.sinceMs - other.sinceMs),
    onChange: (listener) => listeners.add(listener),
    close() {
      closed = true;
      pending.clear();
      lasting.groups.clear();
      listeners.clear();
    },
  };
}

/** Returns a text such as `container runtime unix:///run/… (12 s): connection refused`. */
export function formatWait({ what, sinceMs, why }: LastingWait, nowMs: number): string {
  const seconds = Math.max(0, Math.round((nowMs - sinceMs) / 1000));
  return `${what} (${seconds} s)${why === '' ? '' : `: ${why}`}`;
}
