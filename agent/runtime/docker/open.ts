/** Creates the docker runtime from settings. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { parseEndpoint } from '#cri/client/endpoint.ts';
import { hasSysResource } from '../managed/programs.ts';
import {
  bridgeNetwork,
  NetworkConfigError,
  type PluginNetwork,
  readNetwork,
} from './network/plugin-config.ts';
import { pluginNetworks } from './network/plugin-networks.ts';
import { dockerNetworks, type PodNetworks } from './network/pod-networks.ts';
import { createDockerRuntime, type DockerRuntime } from './runtime.ts';

/** The settings of the agent under their names. */
export interface DockerSettings {
  readonly dockerEndpoint: string;
  readonly podInfraContainerImage: string;
  /** In ms. */
  readonly imagePullProgressDeadline: number;
  /** `''` and `noop`: docker's networks; `cni`; `kubenet`. */
  readonly networkPlugin: string;
  readonly networkPluginMtu: number;
  readonly cniBinDir: string;
  readonly cniConfDir: string;
  readonly cniCacheDir: string;
  readonly podCIDR: string;
  readonly rootDir: string;
}

export interface OpenDockerDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Identity of the node that survives restarts. */
  readonly node: string;
}

function networksOf(settings: DockerSettings): PodNetworks {
  const { networkPlugin, networkPluginMtu, cniConfDir, cniCacheDir } = settings;
  if (networkPlugin === '' || networkPlugin === 'noop') return dockerNetworks();
  const binDirs = settings.cniBinDir.split(',').filter((dir) => dir !== '');
  let podCidr = settings.podCIDR;

  async function bridge(): Promise<PluginNetwork> {
    if (podCidr === '') throw new NetworkConfigError('kubenet: the node has no pod CIDR; set --pod-cidr');
    return bridgeNetwork(podCidr, networkPluginMtu);
  }
  return pluginNetworks({
    binDirs,
    cacheDir: cniCacheDir,
    readNetwork: networkPlugin === 'kubenet' ? bridge : () => readNetwork(cniConfDir),
    setPodCidr: (cidr) => {
      podCidr = cidr;
    },
  });
}

/** Docker runs with the capabilities of this process: on some machines root lacks the one to lower scores. */
async function lowestOomScore(): Promise<number | undefined> {
  if (hasSysResource(await readFile('/proc/self/status', 'utf8'))) return undefined;
  const own = Number((await readFile('/proc/self/oom_score_adj', 'utf8')).trim());
  return Math.max(0, own);
}

/** @throws EndpointError for an endpoint that is not a unix socket */
export async function openDocker(deps: OpenDockerDeps, settings: DockerSettings): Promise<DockerRuntime> {
  return createDockerRuntime({
    ...deps,
    socketPath: parseEndpoint(settings.dockerEndpoint),
    stateDir: join(settings.rootDir, 'docker'),
    sandboxImage: settings.podInfraContainerImage,
    networks: networksOf(settings),
    pullProgressDeadlineMs: settings.imagePullProgressDeadline,
    lowestOomScore: await lowestOomScore(),
  });
}
