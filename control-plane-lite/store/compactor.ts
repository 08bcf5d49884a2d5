/** Compacts the store's history periodically. Each server does it on its own: servers that share a store
 *  agree closely enough, and compacting twice does no harm. */
import { type Clock, sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';

export interface CompactorDeps {
  readonly currentRevision: () => Promise<number>;
  readonly compact: (revision: number) => Promise<void>;
  readonly clock: Clock;
  /** Called when a round failed; the next one makes up for it. */
  readonly onError: (error: Error) => void;
}

export interface CompactorOptions {
  /** Minimum retention of states and events, in ms; 5 minutes unless given. */
  readonly keepMs?: number;
  /** Time between two rounds, in ms, by which retention may be exceeded. A minute, or `keepMs` if that is
   *  less. */
  readonly intervalMs?: number;
}

export interface Compactor {
  /** Runs until the signal, and then resolves. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

interface Sample {
  readonly atMs: number;
  readonly revision: number;
}

export function createCompactor(deps: CompactorDeps, options: CompactorOptions = {}): Compactor {
  const { clock, onError } = deps;
  const { keepMs = 5 * 60_000 } = options;
  const { intervalMs = Math.min(60_000, Math.max(keepMs, 100)) } = options;
  /** Oldest first. */
  let samples: readonly Sample[] = [];
  let compacted = 0;

  async function round(): Promise<void> {
    // Read the time before the query: the revision is then at most as new as the time.
    const nowMs = clock.monotonic();
    const revision = await deps.currentRevision();
    samples = [...samples, { atMs: nowMs, revision }];
    const old = samples.filter(({ atMs }) => nowMs - atMs >= keepMs).at(-1);
    if (old === undefined) return;
    samples = samples.filter(({ atMs }) => atMs >= old.atMs);
    if (old.revision > compacted) await deps.compact(old.revision);
    compacted = old.revision;
  }

  return {
    async run(signal) {
      while (!signal.aborted) {
        await round().catch((thrown: unknown) => onError(asError(thrown)));
        await sleep(clock, intervalMs, signal).catch(() => undefined);
      }
    },
  };
}
