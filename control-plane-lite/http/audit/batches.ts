/** Gathers audit events into batches and sends them in the background, at a limited rate. The events that wait or are being
 *  sent are bounded: beyond the bound they are lost, never waited for. */

import { type Clock, sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';

export interface BatchOptions {
  /** Maximum number of events that wait or are being sent. */
  readonly bufferSize: number;
  readonly maxSize: number;
  /** Maximum wait of an event for its batch to fill. */
  readonly maxWaitMs: number;
  /** Limit of batches per second; absent: none. */
  readonly throttle?: { readonly perSecond: number; readonly burst: number };
}

export interface BatchDeps {
  readonly clock: Clock;
  readonly send: (lines: readonly string[]) => Promise<void>;
  readonly onLost: (error: Error, count: number) => void;
}

export interface Batches {
  /** Returns false if the buffer is full. */
  add(line: string): boolean;
  /** Sends what waits; resolves once it has been sent or is lost. */
  close(): Promise<void>;
}

/** Returns a function that waits until another batch may be sent. */
function createThrottle(clock: Clock, throttle: BatchOptions['throttle']): () => Promise<void> {
  if (throttle === undefined) return () => Promise.resolve();
  const { perSecond, burst } = throttle;
  let tokens = burst;
  let countedMs = clock.monotonic();
  return async () => {
    for (;;) {
      const nowMs = clock.monotonic();
      tokens = Math.min(burst, tokens + ((nowMs - countedMs) / 1000) * perSecond);
      countedMs = nowMs;
      if (tokens >= 1) {
        tokens -= 1;
        return;
      }
      await sleep(clock, ((1 - tokens) / perSecond) * 1000);
    }
  };
}

export function createBatches({ clock, send, onLost }: BatchDeps, options: BatchOptions): Batches {
  const throttle = createThrottle(clock, options.throttle);
  const sending = new Set<Promise<void>>();
  const waiting: string[] = [];
  let inFlight = 0;
  let isDue = false;
  let timer: { cancel(): void } | undefined;
  let releasing: Promise<void> | undefined;

  async function deliver(lines: readonly string[]): Promise<void> {
    try {
      await send(lines);
    } catch (thrown) {
      onLost(asError(thrown), lines.length);
    } finally {
      inFlight -= lines.length;
    }
  }

  const isReady = (): boolean => waiting.length >= options.maxSize || (isDue && waiting.length > 0);

  async function releaseAll(): Promise<void> {
    while (isReady()) {
      await throttle();
      const lines = waiting.splice(0, options.maxSize);
      inFlight += lines.length;
      const delivery = deliver(lines).finally(() => sending.delete(delivery));
      sending.add(delivery);
    }
    releasing = undefined;
    isDue = false;
    if (waiting.length > 0) timer ??= clock.setTimer(releaseRest, options.maxWaitMs);
  }

  /** Also sends a batch that is not full. */
  function releaseRest(): void {
    timer?.cancel();
    timer = undefined;
    isDue = true;
    releasing ??= releaseAll();
  }

  return {
    add(line) {
      if (waiting.length + inFlight >= options.bufferSize) return false;
      waiting.push(line);
      if (waiting.length >= options.maxSize) releasing ??= releaseAll();
      else timer ??= clock.setTimer(releaseRest, options.maxWaitMs);
      return true;
    },
    async close() {
      releaseRest();
      await releasing;
      await Promise.all(sending);
    },
  };
}
