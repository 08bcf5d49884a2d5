/** Gives memory back after a burst of work. V8 and the C library keep what starting many pods needed for a while,
 *  and an agent that then rests would keep it for good: nothing makes them look again. */
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

export function createMemoryTidier({ clock, log, tidy }: MemoryTidierDeps): MemoryTidier {
  let notedAtMs: number | undefined;

  function step(): number | undefined {
    if (notedAtMs === undefined) return undefined;
    const leftMs = notedAtMs + REST_MS - clock.monotonic();
    if (leftMs > 0) return clock.now() + leftMs;
    notedAtMs = undefined;
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
      const resting = notedAtMs === undefined;
      notedAtMs = clock.monotonic();
      if (resting) loop.wake();
    },
    run: (signal) => loop.run(signal),
  };
}

/** Collects garbage where Node was started with `--expose-gc`, then has the C library return what is free.
 *  @see malloc_trim(3) */
export function createTidy(): () => void {
  const trim = trimFunction();
  return () => {
    globalThis.gc?.();
    trim?.(0);
  };
}

function trimFunction(): ((padBytes: number) => number) | undefined {
  try {
    return koffi.load('libc.so.6').func('int malloc_trim(size_t)');
  } catch {
    // Another C library than glibc: it has no such function.
    return undefined;
  }
}
