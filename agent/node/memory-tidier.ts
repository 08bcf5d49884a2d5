/** Releases memory after bursts of work. V8 and the C library retain the memory of many pod starts, and an
 *  idle agent would retain it for good, as nothing triggers a collection. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import koffi from 'koffi';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createLoop } from '#api/kit/loop.ts';

export interface MemoryTidier {
  /** Called for work that allocates memory. Cheap. */
  note(): void;
  /** Collects once after each burst of work, until `signal` fires. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

export interface MemoryTidierDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Frees unused memory. */
  readonly tidy: () => void;
}

/** Required idle time: no request waits for the agent during the pause of some 30 ms. */
const REST_MS = 5_000;
/** Maximum interval on a node that is never idle: otherwise garbage of short-lived pods accumulates to
 *  several times the memory in use. */
const MOST_BUSY_MS = 60_000;

export function createMemoryTidier({ clock, log, tidy }: MemoryTidierDeps): MemoryTidier {
  /** First and last activity since the last collection. */
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
    onError: (err) => log.warn({ err }, 'Failed to trim memory'),
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

/** Collects garbage, then returns free memory of the C library to the kernel.
 *  @see malloc_trim(3) */
export function createTidy(): () => void {
  const trim = trimFunction();
  const collect = collectFunction();
  return () => {
    collect();
    trim?.(0);
  };
}

/** Returns the garbage collector, whatever the flags of Node: without it an agent whose heap once grew
 *  retains it, as V8 does not collect an idle heap. */
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
    // Other C libraries than glibc lack the function.
    return undefined;
  }
}
