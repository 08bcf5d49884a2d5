/** Periodic detection of directories of unknown pods, left by a dead agent or another program; their pods are
 *  terminated like any other. The interval is long, since no event reports them. */
import { type Clock, sleep } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { VolumeManager } from '#volumes/contract/volume-manager.ts';
import type { RuntimeView } from '../../observe/runtime-view.ts';
import type { PodManager } from '../pod-manager.ts';
import { orphanRecord } from './unknown-pods.ts';

export interface OrphanDeps {
  readonly view: Pick<RuntimeView, 'pod'>;
  readonly manager: Pick<PodManager, 'knows' | 'killOrphan'>;
  readonly volumes: Pick<VolumeManager, 'podsOnDisk'>;
  readonly clock: Clock;
  readonly log: Logger;
}

const INTERVAL_MS = 300_000;

/** Terminates every unknown pod whose directory existed at the previous check already; the directory of a new
 *  pod may precede its admission.
 *  @returns the UIDs of all unknown pods */
async function check(
  { view, manager, volumes, log }: OrphanDeps,
  before: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const unknown = (await volumes.podsOnDisk()).filter((podUID) => !manager.knows(podUID));
  for (const podUID of unknown.filter((uid) => before.has(uid))) {
    log.warn({ podUID }, 'Directory of unknown pod found');
    manager.killOrphan(orphanRecord(view, podUID));
  }
  return new Set(unknown);
}

/** Checks periodically until the signal fires. Never rejects. */
export async function runOrphanedDirectories(deps: OrphanDeps, signal: AbortSignal): Promise<void> {
  const { clock, log } = deps;
  let unknown: ReadonlySet<string> = new Set();
  while (!signal.aborted) {
    try {
      await sleep(clock, INTERVAL_MS, signal);
      unknown = await check(deps, unknown);
    } catch (err) {
      if (!signal.aborted) log.warn({ err }, 'Failed to check pod directories');
    }
  }
}
