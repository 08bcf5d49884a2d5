/** The operations that a worker has under way: one per key, each abortable, failures held back with backoff. */
import type { Backoff } from '#api/kit/backoff.ts';
import { asError, type Clock } from '#api/kit/clock.ts';

export interface Operation<Kind> {
  readonly key: string;
  /** What it does, for reports of its failure. */
  readonly kind: Kind;
  readonly run: (signal: AbortSignal) => Promise<void>;
}

export interface OperationSetDeps<Kind> {
  readonly clock: Clock;
  readonly backoff: Backoff;
  /** How long it is of no use to try again after this failure, in ms. Default: as the backoff says. */
  readonly heldBackMs?: (error: Error) => number;
  /** Called whenever an operation ended, well or badly. */
  readonly onSettled: () => void;
  /** Called for a failure that was not caused by abandoning the operation. */
  readonly onFailed: (kind: Kind, error: Error, retryMs: number) => void;
}

export class OperationSet<Kind> {
  readonly #deps: OperationSetDeps<Kind>;
  readonly #underWay = new Map<string, { readonly abort: AbortController; readonly ended: Promise<void> }>();
  readonly #retryAt = new Map<string, number>();

  constructor(deps: OperationSetDeps<Kind>) {
    this.#deps = deps;
  }

  busy(): ReadonlySet<string> {
    return new Set(this.#underWay.keys());
  }

  /** Wall time (ms) before which a key that failed should not be tried again. */
  get retryAtMs(): ReadonlyMap<string, number> {
    return this.#retryAt;
  }

  /** Starts the operation unless one of its key is under way. */
  launch({ key, kind, run }: Operation<Kind>): void {
    if (this.#underWay.has(key)) return;
    const abort = new AbortController();
    const ended = run(abort.signal)
      .then(
        () => this.#succeeded(key),
        (thrown: unknown) => this.#failed({ key, kind }, abort.signal, asError(thrown)),
      )
      .finally(() => {
        this.#underWay.delete(key);
        this.#deps.onSettled();
      });
    this.#underWay.set(key, { abort, ended });
  }

  /** Resolves when everything that is under way now has ended. Never rejects. */
  async settled(): Promise<void> {
    await Promise.all([...this.#underWay.values()].map(({ ended }) => ended));
  }

  /** Tells every operation that its result is no longer wanted; those that end things take a shorter way. */
  abandon(reason: Error): void {
    for (const { abort } of this.#underWay.values()) abort.abort(reason);
  }

  forgetFailures(): void {
    this.#retryAt.clear();
  }

  #succeeded(key: string): void {
    this.#deps.backoff.reset(key);
    this.#retryAt.delete(key);
  }

  #failed({ key, kind }: Pick<Operation<Kind>, 'key' | 'kind'>, signal: AbortSignal, error: Error): void {
    if (signal.aborted) return;
    const nowMs = this.#deps.clock.now();
    const { backoff, heldBackMs } = this.#deps;
    const retryMs = Math.round(Math.max(backoff.fail(key, nowMs), heldBackMs?.(error) ?? 0));
    this.#retryAt.set(key, nowMs + retryMs);
    this.#deps.onFailed(kind, error, retryMs);
  }
}
