/** Has the store forget what is older than some minutes. Each server does it for itself: where several share a store,
 *  they agree closely enough, and a store takes no harm from being told twice. */
import { asError, type Clock, sleep } from '#api/kit/clock.ts';

export interface CompactorDeps {
  readonly currentRevision: () => Promise<number>;
  readonly compact: (revision: number) => Promise<void>;
  readonly clock: Clock;
  /** Told of a round that failed; the next one makes up for it. */
  readonly onError: (error: Error) => void;
}

export interface CompactorOptions {
  /** How long states and events are held at least, in ms; 5 minutes unless given. */
  readonly keepMs?: number;
  /** Time between two rounds, in ms: what is held can be so much older. A minute, or `keepMs` if that is less. */
  readonly intervalMs?: number;
}

export interface Compactor {
  /** Goes on until the signal, and then resolves. */
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
    // Before the question: the revision is then at most as new as the time says.
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
