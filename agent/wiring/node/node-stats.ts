/** Wires resource statistics for the node server. */
import { readFile, readlink, stat, statfs } from 'node:fs/promises';
import { release } from 'node:os';
import { deviceNumbers } from '#volumes/usage/device-numbers.ts';
import type { DiskUsage } from '#volumes/usage/disk-usage.ts';
import { spaceIn } from '#volumes/usage/fs-space.ts';
import type { AgentConfig } from '../../config/gen/config.ts';
import { osImageOf } from '../../machine/os-release.ts';
import { createCadvisor } from '../../server/node/stats/cadvisor-data.ts';
import { createCgroups } from '../../server/node/stats/cgroups/cgroups.ts';
import type { CgroupPlace } from '../../server/node/stats/cgroups/places.ts';
import { readProcesses, readUsage } from '../../server/node/stats/cgroups/usage.ts';
import type { OwnUsage, SystemCgroup } from '../../server/node/stats/node-stats.ts';
import { createPodNetworks } from '../../server/node/stats/pod-network.ts';
import { createProcesses } from '../../server/node/stats/processes.ts';
import { type CollectSummary, createSummary } from '../../server/node/stats/summary.ts';
import { AGENT_VERSION } from '../../version.ts';
import type { Base } from '../base.ts';
import type { PodSubsystem } from '../pods/pods.ts';
import type { RuntimeSubsystem } from '../runtime.ts';

export interface NodeStatsParts {
  readonly collect: CollectSummary;
  /** Returns the text of `/metrics/cadvisor`. */
  readonly cadvisor: () => Promise<string>;
}

export interface NodeStatsSources extends Pick<PodSubsystem, 'manager'> {
  readonly disk: DiskUsage;
}

const readText = (path: string): Promise<string> => readFile(path, 'utf8');

function ownUsage(): OwnUsage {
  const { user, system } = process.cpuUsage();
  return {
    cpuNs: (user + system) * 1000,
    rssBytes: process.memoryUsage.rss(),
    startMs: Date.now() - process.uptime() * 1000,
  };
}

/** Configured system cgroups, under upstream's names. */
function systemCgroups(config: AgentConfig, agentName: string): readonly SystemCgroup[] {
  const named = [
    { name: agentName, path: config.nodeAgentCgroups },
    { name: 'runtime', path: config.runtimeCgroups },
    { name: 'misc', path: config.systemCgroups },
  ];
  return named.flatMap(({ name, path }) =>
    path === '' ? [] : [{ name, path: path.startsWith('/') ? path : `/${path}` }],
  );
}

export async function createNodeStats(
  { config, clock, node, vocabulary, settings }: Base,
  { connection, imageConnection, view }: RuntimeSubsystem,
  { manager, disk }: NodeStatsSources,
): Promise<NodeStatsParts> {
  const { runtime } = connection;
  const { rootDir } = config;
  const processes = createProcesses({ runtime });
  const networks = createPodNetworks({ processes, readProc: readText, readLink: (path) => readlink(path) });
  const cgroups = createCgroups({ processes, readProc: readText });
  const usageOf = (place: CgroupPlace) => readUsage(place, readText);
  const sandboxes = () => view.sandboxes();
  const collect = createSummary(
    {
      runtime,
      images: imageConnection.images,
      container: (id) => view.container(id),
      sandboxes,
      pod: (uid) => manager.entries().find(({ pod }) => pod.metadata?.uid === uid)?.pod,
      readProc: readText,
      spaceOf: async (path) => spaceIn(await statfs(path)),
      own: ownUsage,
      disk,
      networks,
      cgroups,
      usageOf,
      processesIn: (place) => readProcesses(place, readText),
      keepProcesses: (ids) => processes.keep(ids),
      clock,
    },
    {
      nodeName: node,
      rootDir,
      agentName: vocabulary.agentComponent,
      systemCgroups: systemCgroups(config, vocabulary.agentComponent),
    },
  );
  const cadvisor = createCadvisor(
    {
      collect,
      containers: () => view.containers(),
      sandboxes,
      networks,
      cgroups,
      usageOf,
      readProc: readText,
      deviceOf: async (path) => deviceNumbers((await stat(path)).dev),
      clock,
    },
    {
      rootDir,
      cores: settings.cores,
      version: {
        kernelVersion: release(),
        osVersion: osImageOf(await readText('/etc/os-release').catch(() => '')),
        cadvisorVersion: AGENT_VERSION,
      },
    },
  );
  return { collect, cadvisor };
}
