/** What a program waits on: each wait that lasts is logged once, shown as long as it lasts, and logged when it is
 *  resolved. One registry for a process; short waits leave no trace. */
import type { Clock, Timer } from './clock.ts';
import { createListeners } from './listeners.ts';
import type { Logger } from './logger.ts';

/** A wait that has lasted. */
export interface LastingWait {
  /** A noun phrase: `container runtime unix:///run/…`. */
  readonly what: string;
  /** Wall time in ms. */
  readonly sinceMs: number;
  /** Why it goes on, as far as known; empty otherwise. */
  readonly why: string;
}

export interface Wait {
  /** Why it goes on. The newest reason counts. */
  because(reason: string): void;
  /** It is resolved, or given up. May be called again. */
  end(): void;
}

export interface Waits {
  /** Begins a wait. Several of one name are shown and logged as one.
   *  @param options `logged`: the caller logs beginning and end itself */
  begin(what: string, why?: string, options?: { readonly logged?: boolean }): Wait;
  /** Waits for the work, whatever becomes of it. */
  during<T>(what: string, work: Promise<T>): Promise<T>;
  /** Those that have lasted, the oldest first. */
  lasting(): readonly LastingWait[];
  /** Called whenever the list may be another. @returns a function that ends this */
  onChange(listener: () => void): () => void;
  /** Forgets all waits without a word: the program ends. None begins any more. */
  close(): void;
}

/** Waits are worth a word after this, in ms. */
export const LASTING_MS = 5000;

/** Waits of one name that have lasted. */
interface Lasting {
  readonly what: string;
  readonly sinceMs: number;
  readonly startMs: number;
  readonly logged: boolean;
  why: string;
  holders: number;
}

/** Those that have lasted, with their log lines. */
function createLasting(log: Logger, changed: () => void) {
  const groups = new Map<string, Lasting>();
  const warn = ({ logged, what, sinceMs, why }: Lasting): void => {
    const since = new Date(sinceMs).toISOString();
    const fields = { waitingFor: what, since, ...(why === '' ? {} : { reason: why }) };
    if (!logged) log.warn(fields, 'Still waiting');
  };
  return {
    groups,
    add(one: Omit<Lasting, 'holders'>): Lasting {
      const known = groups.get(one.what);
      const group = known ?? { ...one, holders: 0 };
      group.holders += 1;
      if (known !== undefined) {
        if (one.why !== '') known.why = one.why;
        return group;
      }
      groups.set(one.what, group);
      warn(group);
      changed();
      return group;
    },
    because(group: Lasting, reason: string): void {
      const isNews = group.why === '';
      if (group.why === reason) return;
      group.why = reason;
      // Logged once, or twice where the reason is known only later.
      if (isNews) warn(group);
      changed();
    },
    end(group: Lasting, nowMs: number): void {
      group.holders -= 1;
      if (group.holders > 0 || !groups.delete(group.what)) return;
      const afterSeconds = Math.round((nowMs - group.startMs) / 100) / 10;
      if (!group.logged) log.info({ waitingFor: group.what, afterSeconds }, 'Wait resolved');
      changed();
    },
  };
}

export function createWaits({ clock, log }: { readonly clock: Clock; readonly log: Logger }): Waits {
  const listeners = createListeners('waits that last');
  const timers = new Set<Timer>();
  let closed = false;
  const lasting = createLasting(log, () => listeners.notify());

  function begin(what: string, why = '', { logged = false } = {}): Wait {
    if (closed) return { because: () => undefined, end: () => undefined };
    const begun = { what, sinceMs: clock.now(), startMs: clock.monotonic(), logged };
    let reason = why;
    let group: Lasting | undefined;
    const timer = clock.setTimer(() => {
      timers.delete(timer);
      group = lasting.add({ ...begun, why: reason });
    }, LASTING_MS);
    timers.add(timer);
    let open = true;
    return {
      because(next) {
        if (!open) return;
        reason = next;
        if (group !== undefined) lasting.because(group, next);
      },
      end() {
        if (!open) return;
        open = false;
        timer.cancel();
        timers.delete(timer);
        if (group !== undefined) lasting.end(group, clock.monotonic());
      },
    };
  }

  return {
    begin,
    async during(what, work) {
      const wait = begin(what);
      try {
        return await work;
      } finally {
        wait.end();
      }
    },
    lasting: () =>
      [...lasting.groups.values()]
        .map(({ what, sinceMs, why }) => ({ what, sinceMs, why }))
        .toSorted((one, other) => one.sinceMs - other.sinceMs),
    onChange: (listener) => listeners.add(listener),
    close() {
      closed = true;
      for (const timer of timers) timer.cancel();
      lasting.groups.clear();
      listeners.clear();
    },
  };
}

/** `container runtime unix:///run/… (12 s): connection refused` */
export function formatWait({ what, sinceMs, why }: LastingWait, nowMs: number): string {
  const seconds = Math.max(0, Math.round((nowMs - sinceMs) / 1000));
  return `${what} (${seconds} s)${why === '' ? '' : `: ${why}`}`;
}
