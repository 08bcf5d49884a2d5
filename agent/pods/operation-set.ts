/** Operations of a worker in flight: one per key, each abortable, retries delayed by backoff. */
import type { Backoff } from '#api/kit/backoff.ts';
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';

export interface Operation<Kind> {
  readonly key: string;
  /** Kind of operation, for failure reports. */
  readonly kind: Kind;
  readonly run: (signal: AbortSignal) => Promise<void>;
}

export interface OperationSetDeps<Kind> {
  readonly clock: Clock;
  readonly backoff: Backoff;
  /** Minimum delay before a retry is useful after this failure, in ms. Default: that of the backoff. */
  readonly backoffMs?: (error: Error) => number;
  /** Called whenever an operation settles, successfully or not. */
  readonly onSettled: () => void;
  /** Called for a failure that was not caused by an abort. */
  readonly onFailed: (kind: Kind, error: Error, retryMs: number) => void;
}

export class OperationSet<Kind> {
  readonly #deps: OperationSetDeps<Kind>;
  readonly #inFlight = new Map<string, { readonly abort: AbortController; readonly ended: Promise<void> }>();
  readonly #retryAt = new Map<string, number>();

  constructor(deps: OperationSetDeps<Kind>) {
    this.#deps = deps;
  }

  busy(): ReadonlySet<string> {
    return new Set(this.#inFlight.keys());
  }

  /** Wall time (ms) before which a failed key should not be retried. */
  get retryAtMs(): ReadonlyMap<string, number> {
    return this.#retryAt;
  }

  /** Starts the operation unless one of its key is in flight. */
  launch({ key, kind, run }: Operation<Kind>): void {
    if (this.#inFlight.has(key)) return;
    const abort = new AbortController();
    const ended = run(abort.signal)
      .then(
        () => this.#succeeded(key),
        (thrown: unknown) => this.#failed({ key, kind }, abort.signal, asError(thrown)),
      )
      .finally(() => {
        this.#inFlight.delete(key);
        this.#deps.onSettled();
      });
    this.#inFlight.set(key, { abort, ended });
  }

  /** Resolves when every operation in flight has settled. Never rejects. */
  async settled(): Promise<void> {
    await Promise.all([...this.#inFlight.values()].map(({ ended }) => ended));
  }

  /** Aborts every operation; those that stop or remove something take a shorter path. */
  abandon(reason: Error): void {
    for (const { abort } of this.#inFlight.values()) abort.abort(reason);
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
    const { backoff, backoffMs } = this.#deps;
    const retryMs = Math.round(Math.max(backoff.fail(key, nowMs), backoffMs?.(error) ?? 0));
    this.#retryAt.set(key, nowMs + retryMs);
    this.#deps.onFailed(kind, error, retryMs);
  }
}
