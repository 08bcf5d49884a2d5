/** Teardown of all volumes of a pod, from the disk and the mount table alone:
 *
 *      tearDown of sources ─▶ unmount the pod's directory ─▶ forget ─▶ unstage unused volumes
 *
 *  After a failure, the next call finds what is left. */

import { createBackoff } from '#api/kit/backoff.ts';
import { sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { SourcePlugin, UndoServices } from '../contract/source.ts';
import type { PublishRecord } from '../contract/staging.ts';
import { podDir, volumeDir } from '../files/layout.ts';
import { tearDownPod } from '../mount/teardown.ts';
import type { StageKey } from '../staging/folders.ts';
import type { Published } from '../staging/published.ts';
import type { Stager } from '../staging/stager.ts';

export interface UndoDeps {
  readonly rootDir: string;
  readonly services: UndoServices;
  readonly plugin: (source: string) => SourcePlugin | undefined;
  readonly published: Pick<Published, 'of' | 'forget' | 'users'>;
  readonly stager: Pick<Stager, 'release' | 'staged'>;
  readonly log: Logger;
}

export interface Undo {
  /** @throws AggregateError or the only failure */
  pod(podUID: string): Promise<void>;
  /** Unstages volumes that an earlier agent left staged and no pod on disk uses, until that has succeeded or
   *  the signal fires.
   *  @param settled called with each volume that is no longer left over */
  leftovers(settled: (key: StageKey) => void, signal: AbortSignal): Promise<void>;
}

const RETRY = { initialMs: 500, maxMs: 122_000 } as const;

/** @throws AggregateError or the only failure, after all have settled */
async function all(work: readonly Promise<unknown>[]): Promise<void> {
  const failures = (await Promise.allSettled(work)).flatMap((result) =>
    result.status === 'rejected' ? [asError(result.reason)] : [],
  );
  const [first] = failures;
  if (first === undefined) return;
  if (failures.length === 1) throw first;
  throw new AggregateError(failures, failures.map(({ message }) => message).join('; '), { cause: first });
}

const named = (what: string, work: Promise<void>): Promise<void> =>
  work.catch((cause: unknown) => {
    throw new Error(`${what}: ${asError(cause).message}`, { cause });
  });

export function createUndo(deps: UndoDeps): Undo {
  const { rootDir, services, published, stager, log } = deps;
  const { mounter, clock, domain } = services;
  /** Volumes to release of pods whose directories are already gone. */
  const pending = new Map<string, Map<string, StageKey>>();
  const never = new AbortController().signal;

  function owe(podUID: string, records: readonly PublishRecord[]): ReadonlyMap<string, StageKey> {
    const keys = pending.get(podUID) ?? new Map<string, StageKey>();
    for (const { source, uniqueName } of records)
      if (uniqueName !== undefined) keys.set(uniqueName, { source, uniqueName });
    if (keys.size > 0) pending.set(podUID, keys);
    return keys;
  }

  async function tearDown(podUID: string, record: PublishRecord): Promise<void> {
    const plugin = deps.plugin(record.source);
    if (plugin === undefined) {
      const { source, volumeName } = record;
      log.warn(
        { podUID, volume: volumeName, source },
        'Volume of unknown source unmounted without further cleanup',
      );
      return;
    }
    const { dirName = record.source, volumeName, block = false } = record;
    const dir = volumeDir(rootDir, { podUID, source: `${domain}~${dirName}`, volumeName, block });
    await plugin.tearDown?.(record, dir, services, never);
  }

  async function release(podUID: string, key: StageKey): Promise<void> {
    await stager.release(key, never);
    const keys = pending.get(podUID);
    keys?.delete(key.uniqueName);
    if (keys?.size === 0) pending.delete(podUID);
  }

  async function releaseLeftover(key: StageKey, signal: AbortSignal): Promise<void> {
    const backoff = createBackoff(RETRY);
    for (let tries = 1; ; tries += 1) {
      try {
        return await stager.release(key, signal);
      } catch (thrown) {
        signal.throwIfAborted();
        const err = asError(thrown);
        if (tries === 1) log.warn({ err, volume: key.uniqueName }, 'Failed to unstage unused volume');
        await sleep(clock, backoff.fail('', clock.monotonic()), signal);
      }
    }
  }

  async function unstageLeftover(key: StageKey, signal: AbortSignal): Promise<void> {
    if ((await published.users(key.uniqueName)).length === 0) await releaseLeftover(key, signal);
  }

  return {
    async pod(podUID) {
      const dir = podDir(rootDir, podUID);
      const records = await published.of(podUID);
      const keys = owe(podUID, records);
      await all(records.map((record) => named(`volume "${record.volumeName}"`, tearDown(podUID, record))));
      await tearDownPod(mounter, dir, services.run);
      await published.forget(podUID);
      await all([...keys.values()].map((key) => named(key.uniqueName, release(podUID, key))));
    },
    async leftovers(settled, signal) {
      const keys = await stager.staged();
      const results = keys.map((key) => unstageLeftover(key, signal).then(() => settled(key)));
      for (const result of await Promise.allSettled(results))
        if (result.status === 'rejected' && !signal.aborted)
          log.warn({ err: asError(result.reason) }, 'Failed to check staged volume');
    },
  };
}
