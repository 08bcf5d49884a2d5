/** Size of the writable layers of running containers as reported by the runtime some seconds ago, and their
 *  file system. */
import { stat } from 'node:fs/promises';
import type { RuntimeSubsystem } from '../runtime.ts';

export interface LayerUse {
  /** Queries the runtime. @throws CriError */
  refresh(): Promise<void>;
  /** Returns the bytes by container, as of the last query. */
  of(podUID: string): ReadonlyMap<string, number>;
  /** Reports whether layers are on a separate file system; false while unknown. */
  apart(): boolean;
  /** Directory of the layers; undefined while unknown. */
  folder(): string | undefined;
}

const NONE: ReadonlyMap<string, number> = new Map();

type LayerUseDeps = Pick<RuntimeSubsystem, 'connection' | 'imageConnection' | 'view'>;

export function createLayerUse(
  { connection, imageConnection, view }: LayerUseDeps,
  { rootDir }: { readonly rootDir: string },
): LayerUse {
  let pods = new Map<string, Map<string, number>>();
  let place: { readonly folder: string; readonly apart: boolean } | undefined;

  async function findPlace(): Promise<typeof place> {
    const { imageFilesystems } = await imageConnection.images.imageFsInfo({});
    const folder = imageFilesystems[0]?.fsId?.mountpoint ?? '';
    if (folder === '') return undefined;
    const [own, theirs] = await Promise.all([stat(rootDir), stat(folder)]);
    return { folder, apart: own.dev !== theirs.dev };
  }

  return {
    async refresh() {
      place ??= await findPlace();
      const { stats } = await connection.runtime.listContainerStats({});
      const next = new Map<string, Map<string, number>>();
      for (const { attributes, writableLayer } of stats) {
        const container = view.container(attributes?.id ?? '');
        const used = writableLayer?.usedBytes?.value;
        if (container?.state !== 'running' || used === undefined) continue;
        const ofPod = next.get(container.podUID) ?? new Map<string, number>();
        next.set(container.podUID, ofPod.set(container.name, Number(used)));
      }
      pods = next;
    },
    of: (podUID) => pods.get(podUID) ?? NONE,
    apart: () => place?.apart === true,
    folder: () => place?.folder,
  };
}
