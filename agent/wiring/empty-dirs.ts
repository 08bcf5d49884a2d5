/** What the node does beyond making emptyDir volumes, as its features say. */
import { readFile } from 'node:fs/promises';
import { asError } from '#api/kit/clock.ts';
import type { EmptyDirOptions } from '#volumes/types.ts';
import type { ProjectQuotas } from '#volumes/usage/project-quotas.ts';
import { featureEnabled } from '../config/feature-gates.ts';
import type { Base } from './base.ts';

/** Where administrators name projects. */
const PROJECT_FILES = ['/etc/projects', '/etc/projid'];

export interface EmptyDirs {
  readonly options: EmptyDirOptions;
  /** Undefined unless file systems are to keep count. */
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

/** Loaded only where it is asked for. */
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
    onFailure: (path, thrown) =>
      log.debug({ path, err: asError(thrown) }, 'Folder is not counted by its file system'),
  });
}
