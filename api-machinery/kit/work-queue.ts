/** Work queue of keys, as in upstream's controllers: one worker per key at a time; a key added during its
 *  work becomes due once more. A key whose work fails is retried with backoff. */
import { type BackoffPolicy, createBackoff } from './backoff.ts';
import type { Clock, Timer } from './clock.ts';
import { asError } from './errno.ts';

export interface WorkQueue {
  /** Makes a key due now. */
  add(key: string): void;
  /** Makes a key due after a delay, unless it is due sooner. */
  addAfter(key: string, delayMs: number): void;
  /** Runs until the signal fires and the work in flight has finished. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
  /** Number of keys that are due or in flight. */
  readonly length: number;
}

/** Learns about the keys of a queue, for metrics. */
export interface QueueObserver {
  /** The key became due. */
  added(key: string): void;
  started(key: string): void;
  finished(key: string, failed: boolean): void;
}

export interface WorkQueueOptions {
  readonly clock: Clock;
  /** Idempotent: may be called again for the same state. May request another run by returning a delay in
   *  ms. */
  readonly work: (key: string, signal: AbortSignal) => Promise<number | undefined>;
  readonly onError: (key: string, error: Error) => void;
  /** Maximum number of keys in flight; 4 by default. */
  readonly concurrency?: number;
  readonly backoff?: BackoffPolicy;
  readonly observer?: QueueObserver | undefined;
}

const DEFAULT_BACKOFF: BackoffPolicy = { initialMs: 50, maxMs: 60_000, jitter: 0.2 };

export function createWorkQueue(options: WorkQueueOptions): WorkQueue {
  const { clock, work, onError, concurrency = 4, observer } = options;
  const backoff = createBackoff(options.backoff ?? DEFAULT_BACKOFF);
  const due = new Set<string>();
  const busy = new Set<string>();
  const later = new Map<string, { readonly atMs: number; readonly timer: Timer }>();
  let signal: AbortSignal | undefined;
  let drained: (() => void) | undefined;

  function add(key: string): void {
    if (!due.has(key)) observer?.added(key);
    due.add(key);
    startSome();
  }

  function addAfter(key: string, delayMs: number): void {
    const atMs = clock.monotonic() + delayMs;
    const known = later.get(key);
    if (due.has(key) || (known !== undefined && known.atMs <= atMs)) return;
    known?.timer.cancel();
    const timer = clock.setTimer(() => {
      later.delete(key);
      add(key);
    }, delayMs);
    later.set(key, { atMs, timer });
  }

  function startSome(): void {
    if (signal === undefined || signal.aborted) return;
    for (const key of due) {
      if (busy.size >= concurrency) return;
      if (busy.has(key)) continue;
      due.delete(key);
      busy.add(key);
      observer?.started(key);
      void process(key, signal);
    }
  }

  async function process(key: string, until: AbortSignal): Promise<void> {
    let failed = false;
    try {
      const again = await work(key, until);
      backoff.reset(key);
      if (again !== undefined) addAfter(key, again);
    } catch (thrown) {
      failed = true;
      if (!until.aborted) {
        onError(key, asError(thrown));
        addAfter(key, backoff.fail(key, clock.now()));
      }
    } finally {
      busy.delete(key);
      observer?.finished(key, failed);
      if (until.aborted && busy.size === 0) drained?.();
      else startSome();
    }
  }

  return {
    add,
    addAfter,
    get length() {
      return due.size + busy.size;
    },
    run: (until) =>
      new Promise((resolve) => {
        signal = until;
        drained = resolve;
        const onAbort = (): void => {
          for (const { timer } of later.values()) timer.cancel();
          later.clear();
          if (busy.size === 0) resolve();
        };
        if (until.aborted) return onAbort();
        until.addEventListener('abort', onAbort, { once: true });
        startSome();
      }),
  };
}
