/** Keys to be worked on, each by one worker at a time: what comes while a key is at work makes it due once more.
 *  A key whose work fails is tried again after a growing delay. The way every controller works. */
import { type BackoffPolicy, createBackoff } from './backoff.ts';
import { asError, type Clock, type Timer } from './clock.ts';

export interface WorkQueue {
  /** Makes a key due now. */
  add(key: string): void;
  /** Makes a key due after a time, unless it is due sooner. */
  addAfter(key: string, delayMs: number): void;
  /** Works until the signal fires and what is under way has ended. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
  /** Keys that are due or under way. */
  readonly length: number;
}

export interface WorkQueueOptions {
  readonly clock: Clock;
  /** Idempotent: may be called again for the same state. May ask for another look by returning a delay in ms. */
  readonly work: (key: string, signal: AbortSignal) => Promise<number | undefined>;
  readonly onError: (key: string, error: Error) => void;
  /** Keys at work at a time; 4 unless given. */
  readonly concurrency?: number;
  readonly backoff?: BackoffPolicy;
}

const DEFAULT_BACKOFF: BackoffPolicy = { initialMs: 50, maxMs: 60_000, jitter: 0.2 };

export function createWorkQueue(options: WorkQueueOptions): WorkQueue {
  const { clock, work, onError, concurrency = 4 } = options;
  const backoff = createBackoff(options.backoff ?? DEFAULT_BACKOFF);
  const due = new Set<string>();
  const busy = new Set<string>();
  const later = new Map<string, { readonly atMs: number; readonly timer: Timer }>();
  let signal: AbortSignal | undefined;
  let drained: (() => void) | undefined;

  function add(key: string): void {
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
      void process(key, signal);
    }
  }

  async function process(key: string, until: AbortSignal): Promise<void> {
    try {
      const again = await work(key, until);
      backoff.reset(key);
      if (again !== undefined) addAfter(key, again);
    } catch (thrown) {
      if (!until.aborted) {
        onError(key, asError(thrown));
        addAfter(key, backoff.fail(key, clock.now()));
      }
    } finally {
      busy.delete(key);
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
