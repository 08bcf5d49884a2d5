/** Volumes that exist once per node: staged by their first pod, unstaged when the last is gone. One
 *  operation at a time per volume, in parallel for different volumes. The users of a volume are derived
 *  only from the pods' records on disk. */
import { realpath } from 'node:fs/promises';
import { createKeyedQueue } from '#api/kit/keyed-queue.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { SourcePlugin, UndoServices } from '../contract/source.ts';
import type { StageFolder, StagePlan, StageRecord } from '../contract/staging.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { mountsBeneath } from '../mount/mountinfo.ts';
import { realpathOf } from '../mount/teardown.ts';
import { createStageFolders, type StageKey } from './folders.ts';
import { until } from './pod-tasks.ts';
import type { Published } from './published.ts';
import type { RecordFiles } from './record-files.ts';
import { mountsElsewhere, unmountDisk } from './unmount-disk.ts';

export interface StagerDeps {
  readonly rootDir: string;
  readonly files: RecordFiles;
  readonly published: Pick<Published, 'users'>;
  readonly plugin: (source: string) => SourcePlugin | undefined;
  readonly services: UndoServices;
  readonly log: Logger;
}

export interface Stager {
  /** Runs the plan, after any other plan in flight for the name. The pod's record already names the
   *  volume. @throws the plan's error; the signal's reason */
  stage(source: string, plan: StagePlan, signal: AbortSignal): Promise<StageFolder>;
  /** Unstages the volume if no pod uses it. @throws the error that prevents it */
  release(key: StageKey, signal: AbortSignal): Promise<void>;
  /** Returns every staged volume on disk; unreadable records are logged and left alone. */
  staged(): Promise<readonly StageKey[]>;
}

export function createStager(deps: StagerDeps): Stager {
  const { rootDir, published, services, log } = deps;
  const { mounter } = services;
  const folders = createStageFolders({ ...deps, mounter, domain: services.domain });
  const queue = createKeyedQueue();

  async function unstage(key: StageKey, signal: AbortSignal): Promise<void> {
    const path = folders.pathOf(key);
    if ((await published.users(key.uniqueName)).length > 0) return;
    const record = await folders.read(path);
    if (record === 'damaged') return;
    if (record !== 'none') await undo(path, record, signal);
    await folders.remove(path);
    log.debug({ volume: key.uniqueName }, 'Volume unstaged');
  }

  async function undo(path: string, record: StageRecord, signal: AbortSignal): Promise<void> {
    const plugin = deps.plugin(record.source);
    if (plugin === undefined) throw new VolumeSetupError(`unknown volume source ${record.source}`);
    const folder = folders.open(path, record);
    await plugin.beforeUnstage?.(record, folder, services, signal);
    await releaseMount(folder, signal);
    await plugin.unstage?.(record, folder, services, signal);
  }

  async function releaseMount({ globalMount }: StageFolder, signal: AbortSignal): Promise<void> {
    const path = await realpathOf(globalMount);
    if (path === undefined) return;
    const mounts = await mounter.list();
    if (mountsBeneath(mounts, path).length === 0) return;
    const [elsewhere] = mountsElsewhere(mounts, path, await realpath(rootDir));
    if (elsewhere !== undefined) throw new VolumeSetupError(`still mounted at ${elsewhere}`);
    await unmountDisk(services, path, signal);
  }

  return {
    stage(source, plan, signal) {
      const key = { source, uniqueName: plan.uniqueName };
      const work = queue.run(folders.pathOf(key), async () => {
        signal.throwIfAborted();
        const folder = await folders.enter(key);
        await plan.stage(folder, signal);
        return folder;
      });
      return until(signal, work);
    },
    release: (key, signal) => queue.run(folders.pathOf(key), () => unstage(key, signal)),
    async staged() {
      const found: StageKey[] = [];
      for (const path of await folders.list()) {
        const record = await folders.read(path);
        if (typeof record === 'object') found.push(record);
        // Staging was just starting, or removal almost complete: nothing needs to be undone.
        else if (record === 'none') await queue.run(path, () => removeEmpty(path));
      }
      return found;
    },
  };

  async function removeEmpty(path: string): Promise<void> {
    if ((await folders.read(path)) === 'none') await folders.remove(path);
  }
}
