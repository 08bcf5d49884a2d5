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
  /** Begins a wait. Waits of the same name are one: it lasts from the first begin to the last end.
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

interface Entry {
  readonly what: string;
  readonly sinceMs: number;
  readonly startMs: number;
  readonly logged: boolean;
  why: string;
  holders: number;
  lasts: boolean;
  timer: Timer;
}

export function createWaits({ clock, log }: { readonly clock: Clock; readonly log: Logger }): Waits {
  const entries = new Map<string, Entry>();
  const listeners = createListeners('waits that last');
  const changed = (): void => listeners.notify();
  let closed = false;

  /** Once, or twice where the reason is known only later. */
  function warn(entry: Entry): void {
    if (entry.logged) return;
    const since = new Date(entry.sinceMs).toISOString();
    log.warn({ waitingFor: entry.what, since, ...reasonOf(entry) }, 'Still waiting');
  }

  function lasts(entry: Entry): void {
    entry.lasts = true;
    warn(entry);
    changed();
  }

  function resolve(entry: Entry): void {
    entry.timer.cancel();
    entries.delete(entry.what);
    if (!entry.lasts || closed) return;
    const seconds = Math.round((clock.monotonic() - entry.startMs) / 100) / 10;
    if (!entry.logged) log.info({ waitingFor: entry.what, afterSeconds: seconds }, 'Wait resolved');
    changed();
  }

  function begin(what: string, why = '', { logged = false } = {}): Wait {
    if (closed) return { because: () => undefined, end: () => undefined };
    let entry = entries.get(what);
    if (entry === undefined) {
      const fresh: Entry = {
        what,
        sinceMs: clock.now(),
        startMs: clock.monotonic(),
        logged,
        why: '',
        holders: 0,
        lasts: false,
        timer: clock.setTimer(() => lasts(fresh), LASTING_MS),
      };
      entry = fresh;
      entries.set(what, entry);
    }
    const held = entry;
    held.holders += 1;
    if (why !== '') held.why = why;
    let open = true;
    return {
      because(reason) {
        if (!open || held.why === reason) return;
        const isNews = held.lasts && held.why === '';
        held.why = reason;
        if (isNews) warn(held);
        if (held.lasts) changed();
      },
      end() {
        if (!open) return;
        open = false;
        held.holders -= 1;
        if (held.holders === 0) resolve(held);
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
      [...entries.values()]
        .filter((entry) => entry.lasts)
        .map(({ what, sinceMs, why }) => ({ what, sinceMs, why })),
    onChange: (listener) => listeners.add(listener),
    close() {
      closed = true;
      for (const { timer } of entries.values()) timer.cancel();
      entries.clear();
      listeners.clear();
    },
  };
}

const reasonOf = ({ why }: Entry): { readonly reason?: string } => (why === '' ? {} : { reason: why });

/** `container runtime unix:///run/… (12 s): connection refused` */
export function formatWait({ what, sinceMs, why }: LastingWait, nowMs: number): string {
  const seconds = Math.max(0, Math.round((nowMs - sinceMs) / 1000));
  return `${what} (${seconds} s)${why === '' ? '' : `: ${why}`}`;
}
