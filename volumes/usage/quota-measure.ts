/** Directories with accounting by project quotas, whose usage is available at once. */
import { statfs } from 'node:fs/promises';
import { type FsSpace, spaceIn } from './fs-space.ts';
import type { ProjectQuotas } from './project-quotas.ts';
import type { Measured, PodFolders } from './protocol.ts';

export interface CountedFolder {
  readonly path: string;
  readonly measured: Measured;
}

export interface QuotaMeasure {
  /** Returns the directories of these pods that have accounting. */
  measure(pods: readonly PodFolders[]): Promise<readonly CountedFolder[]>;
}

export interface QuotaMeasureDeps {
  readonly quotas: Pick<ProjectQuotas, 'folders' | 'usage'>;
  readonly spaceOf?: (path: string) => Promise<FsSpace>;
}

const spaceAt = async (path: string): Promise<FsSpace> => spaceIn(await statfs(path));

export function createQuotaMeasure({ quotas, spaceOf = spaceAt }: QuotaMeasureDeps): QuotaMeasure {
  async function measureOne(
    { uid, volumesDir }: PodFolders,
    path: string,
  ): Promise<readonly CountedFolder[]> {
    const usage = await quotas.usage(path);
    const [source = '', name = ''] = path.slice(volumesDir.length + 1).split('/');
    if (usage === undefined) return [];
    const { usedBytes, inodes: inodesUsed } = usage;
    const space = await spaceOf(path);
    return [
      {
        path,
        measured: { podUID: uid, of: 'volume', name, source, isOwnFs: false, usedBytes, inodesUsed, space },
      },
    ];
  }

  return {
    async measure(pods) {
      const found = quotas.folders().flatMap((path) => {
        const pod = pods.find(({ volumesDir }) => path.startsWith(`${volumesDir}/`));
        return pod === undefined ? [] : [measureOne(pod, path)];
      });
      return (await Promise.all(found)).flat();
    },
  };
}
