/** Runs the sources and maintains the merged desired state. Decides nothing about pods. */

import { createBackoff } from '#api/kit/backoff.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { createListeners } from '#api/kit/listeners.ts';
import type { Logger } from '#api/kit/logger.ts';
import { type Holders, holdersOf, mergeSnapshots } from './merge.ts';
import type { DesiredState, PodSource, SourceName, SourcePod, SourceSnapshot } from './types.ts';

export interface SourceManagerDeps {
  readonly sources: readonly PodSource[];
  readonly clock: Clock;
  readonly log: Logger;
}

export type DesiredListener = (state: DesiredState) => void;

export interface SourceManager {
  /** Runs every source until `signal` fires. Restarts a failed source with backoff. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
  current(): DesiredState;
  /** Adopts pods of an earlier agent, which keep precedence. Call before the state is used. */
  restored(pods: readonly SourcePod[]): void;
  /** Calls the listener, synchronously, after each change. @returns a function that ends the subscription */
  onChange(listener: DesiredListener): () => void;
}

const RESTART_BACKOFF = { initialMs: 1000, maxMs: 60_000, jitter: 0.1 };

export function createSourceManager(deps: SourceManagerDeps): SourceManager {
  const { sources, clock, log } = deps;
  const expected = sources.map((source) => source.name);
  const snapshots = new Map<SourceName, SourceSnapshot>();
  const listeners = createListeners<Parameters<DesiredListener>>('desired pods');
  const backoff = createBackoff(RESTART_BACKOFF);
  let state = mergeSnapshots([], expected);

  function merge(holders: Holders): void {
    state = mergeSnapshots([...snapshots.values()], expected, holders);
  }

  function receive(snapshot: SourceSnapshot): void {
    snapshots.set(snapshot.source, snapshot);
    merge(holdersOf(state));
    listeners.notify(state);
  }

  async function runSource(source: PodSource, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await source.run(signal, receive);
        if (signal.aborted) return;
        throw new Error(`source ${source.name} ended unexpectedly`);
      } catch (thrown) {
        if (signal.aborted) return;
        const delayMs = backoff.fail(source.name, clock.now());
        log.error({ err: asError(thrown), source: source.name, delayMs }, 'Pod source failed; restarting');
        // This rejects only for the abort, which the loop condition detects.
        await sleep(clock, delayMs, signal).catch(() => undefined);
      }
    }
  }

  return {
    async run(signal) {
      await Promise.all(sources.map((source) => runSource(source, signal)));
    },
    current: () => state,
    restored(pods) {
      merge(holdersOf({ pods, objects: state.objects }));
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
