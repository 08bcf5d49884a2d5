/** What the node's server tells of resources, wired. */
import { readFile, readlink, stat, statfs } from 'node:fs/promises';
import { release } from 'node:os';
import { join } from 'node:path';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import { podDir, VOLUMES } from '#volumes/layout.ts';
import { createDiskUsage } from '#volumes/usage/disk-usage.ts';
import { spaceIn } from '#volumes/usage/fs-space.ts';
import type { PodFolders } from '#volumes/usage/protocol.ts';
import type { AgentConfig } from '../config/gen/config.ts';
import { podLogDir } from '../logs/paths.ts';
import { osImageOf } from '../registration/machine/os-release.ts';
import { createCadvisor } from '../server/node/stats/cadvisor-look.ts';
import { createCgroups } from '../server/node/stats/cgroups/cgroups.ts';
import type { CgroupPlace } from '../server/node/stats/cgroups/places.ts';
import { readProcesses, readUsage } from '../server/node/stats/cgroups/usage.ts';
import type { OwnUsage, SystemCgroup } from '../server/node/stats/node-stats.ts';
import { createPodNetworks } from '../server/node/stats/pod-network.ts';
import { createProcesses } from '../server/node/stats/processes.ts';
import { type CollectSummary, createSummary } from '../server/node/stats/summary.ts';
import { AGENT_VERSION } from '../version.ts';
import type { Base } from './base.ts';
import type { PodSide } from './pod-side.ts';
import type { RuntimeSide } from './runtime-side.ts';

export interface NodeStatsParts {
  readonly collect: CollectSummary;
  /** Text of `/metrics/cadvisor`. */
  readonly cadvisor: () => Promise<string>;
  readonly close: () => void;
}

/** A device's numbers, as the C library parts them. */
function deviceNumbers(dev: number): string {
  const id = BigInt(dev);
  const major = ((id >> 8n) & 0xfffn) | ((id >> 32n) & ~0xfffn);
  const minor = (id & 0xffn) | ((id >> 12n) & ~0xffn);
  return `${major}:${minor & 0xffffffffn}`;
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

/** Cgroups that the configuration names, under the names that the field has for them. */
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

function podFolders({ rootDir, podLogsDir }: AgentConfig, { metadata }: Pod): readonly PodFolders[] {
  const { uid = '', name = '', namespace = '' } = metadata ?? {};
  if (uid === '') return [];
  const logsDir = podLogDir(podLogsDir, { namespace, name, podUID: uid });
  return [{ uid, volumesDir: join(podDir(rootDir, uid), VOLUMES), logsDir }];
}

export async function createNodeStats(
  { config, clock, log, node, vocabulary, settings }: Base,
  { connection, imageConnection, view }: RuntimeSide,
  { manager }: PodSide,
): Promise<NodeStatsParts> {
  const { runtime } = connection;
  const { rootDir } = config;
  const disk = createDiskUsage(
    { clock, log, pods: () => manager.entries().flatMap(({ pod }) => podFolders(config, pod)) },
    { periodMs: config.volumeStatsAggPeriod },
  );
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
      cores: settings.allocatable()['cpu'] ?? 1,
      version: {
        kernelVersion: release(),
        osVersion: osImageOf(await readText('/etc/os-release').catch(() => '')),
        cadvisorVersion: AGENT_VERSION,
      },
    },
  );
  return { collect, cadvisor, close: () => disk.close() };
}
