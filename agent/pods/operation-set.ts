/** The operations that a worker has under way: one per key, each abortable, failures held back with backoff. */
import type { Backoff } from '#api/kit/backoff.ts';
import { asError, type Clock } from '#api/kit/clock.ts';

export interface OperationSetDeps {
  readonly clock: Clock;
  readonly backoff: Backoff;
  /** Called whenever an operation ended, well or badly. */
  readonly onSettled: () => void;
  /** Called for a failure that was not caused by abandoning the operation. */
  readonly onFailed: (key: string, error: Error, retryMs: number) => void;
}

export class OperationSet {
  readonly #deps: OperationSetDeps;
  readonly #underWay = new Map<string, AbortController>();
  readonly #retryAt = new Map<string, number>();

  constructor(deps: OperationSetDeps) {
    this.#deps = deps;
  }

  busy(): ReadonlySet<string> {
    return new Set(this.#underWay.keys());
  }

  /** Wall time (ms) before which a key that failed should not be tried again. */
  get retryAtMs(): ReadonlyMap<string, number> {
    return this.#retryAt;
  }

  /** Starts `operation` unless one of this key is under way. */
  launch(key: string, operation: (signal: AbortSignal) => Promise<void>): void {
    if (this.#underWay.has(key)) return;
    const abort = new AbortController();
    this.#underWay.set(key, abort);
    void operation(abort.signal)
      .then(
        () => this.#succeeded(key),
        (thrown: unknown) => this.#failed(key, abort.signal, asError(thrown)),
      )
      .finally(() => {
        this.#underWay.delete(key);
        this.#deps.onSettled();
      });
  }

  /** Tells every operation that its result is no longer wanted; those that end things take a shorter way. */
  abandon(reason: Error): void {
    for (const abort of this.#underWay.values()) abort.abort(reason);
  }

  forgetFailures(): void {
    this.#retryAt.clear();
  }

  #succeeded(key: string): void {
    this.#deps.backoff.reset(key);
    this.#retryAt.delete(key);
  }

  #failed(key: string, signal: AbortSignal, error: Error): void {
    if (signal.aborted) return;
    const nowMs = this.#deps.clock.now();
    const retryMs = this.#deps.backoff.fail(key, nowMs);
    this.#retryAt.set(key, nowMs + retryMs);
    this.#deps.onFailed(key, error, retryMs);
  }
}
