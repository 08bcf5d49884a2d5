/** What writable layers of running containers take, as the runtime knew it some seconds ago, and where they lie. */
import { stat } from 'node:fs/promises';
import type { RuntimeSide } from './runtime-side.ts';

export interface LayerUse {
  /** Asks the runtime. @throws CriError */
  look(): Promise<void>;
  /** Bytes by container, as it was looked up last. */
  of(podUID: string): ReadonlyMap<string, number>;
  /** Whether layers have a file system of their own; not while that is not known. */
  apart(): boolean;
  /** The folder that they lie in; undefined while it is not known. */
  folder(): string | undefined;
}

const NONE: ReadonlyMap<string, number> = new Map();

type LayerUseDeps = Pick<RuntimeSide, 'connection' | 'imageConnection' | 'view'>;

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
    async look() {
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
