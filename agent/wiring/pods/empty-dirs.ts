/** Options of emptyDir volumes, by the feature gates of the node. */
import { readFile } from 'node:fs/promises';
import { asError } from '#api/kit/errno.ts';
import type { EmptyDirOptions } from '#volumes/contract/volume-manager.ts';
import type { ProjectQuotas } from '#volumes/usage/project-quotas.ts';
import { featureEnabled } from '../../config/feature-gates.ts';
import type { Base } from '../base.ts';

/** Files in which administrators define project IDs. */
const PROJECT_FILES = ['/etc/projects', '/etc/projid'];

export interface EmptyDirs {
  readonly options: EmptyDirOptions;
  /** Undefined unless file systems account for usage by project quotas. */
  readonly quotas: ProjectQuotas | undefined;
}

export async function createEmptyDirs(base: Base): Promise<EmptyDirs> {
  const { config } = base;
  const sizesMemory = featureEnabled(config, 'SizeMemoryBackedVolumes');
  if (!featureEnabled(config, 'LocalStorageCapacityIsolationFSQuotaMonitoring'))
    return { options: { sizesMemory }, quotas: undefined };
  const quotas = await createQuotas(base);
  return { options: { sizesMemory, countFolder: (path) => quotas.adopt(path) }, quotas };
}

/** Loaded only with the feature gate. */
async function createQuotas({ log }: Pick<Base, 'log'>): Promise<ProjectQuotas> {
  const [{ createProjectQuotas, namedProjects }, { createProjectCalls }] = await Promise.all([
    import('#volumes/usage/project-quotas.ts'),
    import('#volumes/usage/project-calls.ts'),
  ]);
  return createProjectQuotas({
    calls: createProjectCalls(),
    async named() {
      const texts = await Promise.all(PROJECT_FILES.map((path) => readFile(path, 'utf8').catch(() => '')));
      return namedProjects(texts.join('\n'));
    },
    onFailure: (path, thrown) => log.debug({ path, err: asError(thrown) }, 'Failed to set project quota'),
  });
}
