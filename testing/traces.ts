/** Everything that an agent has left behind: in the runtime, in mounts, in directories. For tests that
 *  compare it with the expected state. */

import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { criKeys } from '#agent/pod-identity/labels.ts';
import { hasCode } from '#api/kit/errno.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { type CriConnection, connectRuntime } from '#cri/client/connection.ts';
import type { Container, PodSandbox } from '#cri/gen/cri-v1.ts';

const KEYS = criKeys(VOCABULARIES.plat);

export interface Traces {
  readonly sandboxes: readonly PodSandbox[];
  readonly containers: readonly Container[];
  /** Mount points below the root. */
  readonly mounts: readonly string[];
  /** Names of the directories in `<root>/pods`. */
  readonly podDirs: readonly string[];
  /** Names of log directories. */
  readonly logDirs: readonly string[];
  /** Names of dangling log links. */
  readonly deadLinks: readonly string[];
}

/** Directories of an agent. */
export interface AgentFolders {
  readonly folder: string;
  readonly root: string;
  readonly logs: string;
}

/** Opens one connection to the runtime for any number of inspections. */
export function connectForTraces(endpoint: string): CriConnection {
  return connectRuntime({ endpoint, log: silentLogger });
}

export async function readTraces({ runtime }: CriConnection, agent: AgentFolders): Promise<Traces> {
  const instance = (await readFile(join(agent.root, 'instance'), 'utf8')).trim();
  const filter = { labelSelector: { [KEYS.instance]: instance } };
  return {
    sandboxes: (await runtime.listPodSandbox({ filter })).items,
    containers: (await runtime.listContainers({ filter })).containers,
    mounts: await mountsBelow(agent.root),
    podDirs: await list(join(agent.root, 'pods')),
    logDirs: await list(agent.logs),
    deadLinks: await deadLinks(join(agent.folder, 'links')),
  };
}

export const podUIDOf = ({ labels }: Pick<Container, 'labels'>): string => labels[KEYS.podUID] ?? '';
export const containerNameOf = ({ labels }: Pick<Container, 'labels'>): string =>
  labels[KEYS.containerName] ?? '';

/** Returns the process ID from the runtime's verbose status; 0 when the container does not run. */
export async function pidOf({ runtime }: CriConnection, containerId: string): Promise<number> {
  const { info } = await runtime.containerStatus({ containerId, verbose: true });
  const parsed: unknown = JSON.parse(info['info'] ?? '{}');
  return typeof parsed === 'object' && parsed !== null && 'pid' in parsed ? Number(parsed.pid) : 0;
}

async function mountsBelow(root: string): Promise<readonly string[]> {
  const lines = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n');
  return lines.map((line) => line.split(' ')[4] ?? '').filter((path) => path.startsWith(`${root}/`));
}

const list = (dir: string): Promise<readonly string[]> => readdir(dir).catch(() => []);

/** A link that the agent removes during the inspection does not count as dangling. */
async function deadLinks(dir: string): Promise<readonly string[]> {
  const names = await list(dir);
  const dead = await Promise.all(
    names.map(async (name) => {
      const leadsSomewhere = await exists(stat(join(dir, name)));
      return !leadsSomewhere && (await exists(readlink(join(dir, name))));
    }),
  );
  return names.filter((_, index) => dead[index]);
}

async function exists(inspection: Promise<unknown>): Promise<boolean> {
  try {
    await inspection;
    return true;
  } catch (thrown) {
    if (hasCode(thrown, 'ENOENT')) return false;
    throw thrown;
  }
}
