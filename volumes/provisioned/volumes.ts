/** Volumes that the agent creates on its own disk for claims: `<root-dir>/local-volumes/<name>` with a record and
 *  the content in `data`. Containers see only `data`, as the root of a mount, so nothing that they do changes a
 *  path that the agent uses. Operations on one volume run one at a time. */
import { asError } from '#api/kit/errno.ts';
import { createKeyedQueue } from '#api/kit/keyed-queue.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { LocalVolume, LocalVolumes } from '../contract/local-volumes.ts';
import type { RecordFiles } from '../staging/record-files.ts';
import type { ImageDeps } from './image.ts';
import {
  createVolume,
  type OperationDeps,
  prepareVolume,
  REMOVED,
  removeVolume,
  sweep,
} from './operations.ts';
import { createPlaces } from './places.ts';
import { isVolumeName } from './record.ts';

export interface LocalVolumesDeps extends ImageDeps {
  readonly rootDir: string;
  readonly files: RecordFiles;
  readonly log: Logger;
}

export function createLocalVolumes({ rootDir, files, ...rest }: LocalVolumesDeps): LocalVolumes {
  const places = createPlaces(rootDir, files);
  const deps: OperationDeps = { ...rest, places };
  const { log } = rest;
  const queue = createKeyedQueue();

  /** An interrupted creation is included, so that it can be removed. */
  async function listOne(name: string): Promise<readonly LocalVolume[]> {
    try {
      const record = await places.read(name);
      return record === undefined ? [] : [places.viewOf(record)];
    } catch (thrown) {
      log.warn({ err: asError(thrown), volume: name }, 'Failed to read local volume');
      return [];
    }
  }

  /** Without a record, the agent stopped before it wrote one: nothing else is there. */
  async function recoverEntry(name: string, signal: AbortSignal): Promise<void> {
    if (name.startsWith(REMOVED)) {
      await queue.run(name.slice(REMOVED.length), () => sweep(deps, name, signal));
    } else if (isVolumeName(name)) {
      await queue.run(name, async () => {
        if (!(await places.hasRecord(name))) await removeVolume(deps, name, signal);
      });
    }
  }

  return {
    create: (spec, signal) => queue.run(spec.name, () => createVolume(deps, spec, signal)),
    async get(name) {
      const record = await places.read(name);
      return record?.state === 'ready' ? places.viewOf(record) : undefined;
    },
    async list() {
      const names = (await places.entries()).filter(isVolumeName);
      const found: LocalVolume[] = [];
      for (const name of names) found.push(...(await listOne(name)));
      return found;
    },
    async prepare(path, podUID, signal) {
      const name = places.nameOf(path);
      if (name !== undefined) await queue.run(name, () => prepareVolume(deps, name, podUID, signal));
    },
    async remove(name, signal) {
      places.dirOf(name);
      if (!(await places.entries()).includes(name)) return true;
      return queue.run(name, () => removeVolume(deps, name, signal));
    },
    async recover(signal) {
      try {
        for (const name of await places.entries()) await recoverEntry(name, signal);
      } catch (thrown) {
        log.warn({ err: asError(thrown) }, 'Failed to remove local volumes of an earlier run');
      }
    },
  };
}
