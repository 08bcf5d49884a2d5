/** Folders of pods that nobody knows, as a foreign hand or an agent that died may leave them while another runs: they
 *  are ended like any other pod. Looked for rarely, since nothing tells of them. */
import { type Clock, sleep } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { VolumeManager } from '#volumes/types.ts';
import type { RuntimeView } from '../observe/runtime-view.ts';
import type { PodManager } from './pod-manager.ts';
import { strayRecord } from './strays.ts';

export interface OrphanDeps {
  readonly view: Pick<RuntimeView, 'pod'>;
  readonly manager: Pick<PodManager, 'knows' | 'takeStray'>;
  readonly volumes: Pick<VolumeManager, 'podsOnDisk'>;
  readonly clock: Clock;
  readonly log: Logger;
}

const INTERVAL_MS = 300_000;

/** Takes on every pod that has a folder since the last look already and that nobody knows; a new pod may have a folder
 *  before it is known.
 *  @returns those that nobody knows */
async function look(
  { view, manager, volumes, log }: OrphanDeps,
  before: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const unknown = (await volumes.podsOnDisk()).filter((podUID) => !manager.knows(podUID));
  for (const podUID of unknown.filter((uid) => before.has(uid))) {
    log.warn({ podUID }, 'Folder of a pod that nobody knows was found');
    manager.takeStray(strayRecord(view, podUID));
  }
  return new Set(unknown);
}

/** Looks until the signal fires. Never rejects. */
export async function runOrphans(deps: OrphanDeps, signal: AbortSignal): Promise<void> {
  const { clock, log } = deps;
  let unknown: ReadonlySet<string> = new Set();
  while (!signal.aborted) {
    try {
      await sleep(clock, INTERVAL_MS, signal);
      unknown = await look(deps, unknown);
    } catch (err) {
      if (!signal.aborted) log.warn({ err }, 'Folders of pods could not be looked through');
    }
  }
}
