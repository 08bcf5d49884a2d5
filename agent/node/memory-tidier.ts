/** Gives memory back after a burst of work. V8 and the C library keep what starting many pods needed for a while,
 *  and an agent that then rests would keep it for good: nothing makes them look again. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import koffi from 'koffi';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createLoop } from '#api/kit/loop.ts';

export interface MemoryTidier {
  /** Something happened that needs memory. Cheap. */
  note(): void;
  /** Tidies once after each stretch of work, until `signal` fires. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

export interface MemoryTidierDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Frees what can be freed. */
  readonly tidy: () => void;
}

/** How long nothing may have happened: nobody waits for the agent during the pause of some 30 ms. */
const REST_MS = 5_000;
/** On a node where something always happens, this often all the same: garbage of pods that come and go piles up
 *  otherwise, to several times of what is in use. */
const MOST_BUSY_MS = 60_000;

export function createMemoryTidier({ clock, log, tidy }: MemoryTidierDeps): MemoryTidier {
  /** First and last since memory was tidied. */
  let noted: { readonly firstAtMs: number; lastAtMs: number } | undefined;

  function step(): number | undefined {
    if (noted === undefined) return undefined;
    const dueAtMs = Math.min(noted.lastAtMs + REST_MS, noted.firstAtMs + MOST_BUSY_MS);
    const leftMs = dueAtMs - clock.monotonic();
    if (leftMs > 0) return clock.now() + leftMs;
    noted = undefined;
    tidy();
    return undefined;
  }

  const loop = createLoop({
    clock,
    step: () => Promise.resolve(step()),
    onError: (err) => log.warn({ err }, 'Memory was not tidied'),
  });
  return {
    note() {
      const nowMs = clock.monotonic();
      if (noted !== undefined) {
        noted.lastAtMs = nowMs;
        return;
      }
      noted = { firstAtMs: nowMs, lastAtMs: nowMs };
      loop.wake();
    },
    run: (signal) => loop.run(signal),
  };
}

/** Collects garbage, then has the C library return what is free.
 *  @see malloc_trim(3) */
export function createTidy(): () => void {
  const trim = trimFunction();
  const collect = collectFunction();
  return () => {
    collect();
    trim?.(0);
  };
}

/** The collector, however Node was started: without it an agent whose heap once grew keeps it, as V8 sees no reason to
 *  look at a heap that rests. */
function collectFunction(): () => void {
  if (globalThis.gc === undefined) setFlagsFromString('--expose-gc');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- V8 gives every new context one from here on
  const collect = globalThis.gc ?? (runInNewContext('gc') as () => void);
  return () => collect();
}

function trimFunction(): ((padBytes: number) => number) | undefined {
  try {
    return koffi.load('libc.so.6').func('int malloc_trim(size_t)');
  } catch {
    // Another C library than glibc: it has no such function.
    return undefined;
  }
}
