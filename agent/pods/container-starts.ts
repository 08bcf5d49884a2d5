/** Starts of the containers of one pod, as far as the next decision depends on them: attempt numbers, restart
 *  backoff, and failures with their retry time. Starts nothing. */
import type { Pod } from '#api/gen/core-v1.ts';
import type { Backoff } from '#api/kit/backoff.ts';
import type { ObservedContainer } from '../observe/types.ts';
import { containerHash } from '../runtime/config/hash.ts';
import { afterRestart, type CrashBackoff } from './decide/backoff.ts';
import { appContainers, isOutdated } from './decide/containers.ts';
import type { ActionOf, ContainerProgress } from './decide/decision-types.ts';
import type { StartOutcome } from './operations/start-container.ts';

export class ContainerStarts {
  readonly #failures: Backoff;
  readonly #progress = new Map<string, ContainerProgress>();
  readonly #attempts = new Map<string, number>();

  /** @param failures backoff of failed starts, by container name */
  constructor(failures: Backoff) {
    this.#failures = failures;
  }

  /** By container name. */
  get progress(): ReadonlyMap<string, ContainerProgress> {
    return this.#progress;
  }

  /** Attempt number of the next instance, by container name. Never decreases. */
  get attempts(): ReadonlyMap<string, number> {
    return this.#attempts;
  }

  noteAttempt({ name, attempt }: Pick<ObservedContainer, 'name' | 'attempt'>): void {
    this.#attempts.set(name, Math.max(this.#attempts.get(name) ?? 0, attempt + 1));
  }

  /** Makes every failed start due immediately. */
  retry(): void {
    for (const [name, entry] of this.#progress) {
      if (entry.failure === undefined) continue;
      this.#progress.set(name, { ...entry, failure: { ...entry.failure, retryAtMs: 0 } });
    }
  }

  /** Resets backoff and failure of containers whose spec has changed. */
  resetChanged(before: Pod, next: Pod): void {
    for (const spec of appContainers(next)) {
      const old = appContainers(before).find(({ name }) => name === spec.name);
      if (old === undefined || containerHash(old) === containerHash(spec)) continue;
      this.#progress.delete(spec.name);
      this.#failures.reset(spec.name);
    }
  }

  /** Returns the restart backoff that a start continues: none for a container with a changed spec. */
  restartBackoff({ spec, previous }: ActionOf<'startContainer'>): CrashBackoff | undefined {
    const isReplaced = previous !== undefined && isOutdated(spec, previous);
    return isReplaced ? undefined : this.#progress.get(spec.name)?.crash;
  }

  /** Records the outcome of a start.
   *  @param before result of `restartBackoff` when it began */
  settle(
    { spec: { name }, previous }: ActionOf<'startContainer'>,
    outcome: StartOutcome,
    before: CrashBackoff | undefined,
    nowMs: number,
  ): void {
    if (outcome.kind === 'started') {
      const crash = previous === undefined ? before : afterRestart(before, previous.finishedAtMs, nowMs);
      this.#progress.set(name, crash === undefined ? {} : { crash });
      return;
    }
    const retryAtMs = outcome.retryAtMs ?? nowMs + this.#failures.fail(name, nowMs);
    const failure = { reason: outcome.reason, message: outcome.message, retryAtMs };
    this.#progress.set(name, before === undefined ? { failure } : { crash: before, failure });
  }
}
