/** Wires device plugins. Until a plugin registers, only a socket is opened. */
import { readFile } from 'node:fs/promises';
import type { Pod } from '#api/gen/core-v1.ts';
import { isExtendedResource } from '#api/meta/extended-resource.ts';
import type { Csi } from '#volumes/csi/csi.ts';
import type { PluginHandler } from '#volumes/csi/registration.ts';
import { featureEnabled } from '../../config/feature-gates.ts';
import { parseCpuSet } from '../../machine/cpu-set.ts';
import type { PodManager } from '../../pods/pod-manager.ts';
import { createDevices, type Devices } from '../../resources/devices/devices.ts';
import { DEVICE_PLUGIN } from '../../resources/devices/registration.ts';
import { maskOf, type NodeMask } from '../../resources/topology/hints.ts';
import type { Base } from '../base.ts';
import type { ServerParts } from '../server-parts.ts';
import { createCsiSubsystem } from './csi.ts';

export interface DeviceSubsystem extends Devices {
  /** Registration handlers for plugins in the plugin directory. */
  readonly handlers: ReadonlyMap<string, PluginHandler>;
}

const ONLINE_NODES = '/sys/devices/system/node/online';

/** Returns all NUMA nodes; one if the kernel does not report them. */
async function memoryNodes(): Promise<NodeMask> {
  const text = await readFile(ONLINE_NODES, 'utf8').catch(() => '');
  return maskOf(parseCpuSet(text.trim() === '' ? '0' : text.trim()));
}

/** @param joined whether there is an API server, which may know resources that no node has */
async function createDeviceSubsystem(base: Base, joined: boolean): Promise<DeviceSubsystem | undefined> {
  const { config, clock, log, vocabulary } = base;
  if (!featureEnabled(config, 'DevicePlugins')) return undefined;
  const { domain, agentComponent: agentName } = vocabulary;
  const devices = await createDevices(
    { clock, log },
    {
      rootDir: config.rootDir,
      agentName,
      domain,
      machine: await memoryNodes(),
      waitsFor: joined ? () => false : (resource) => isExtendedResource(resource, domain),
    },
  );
  return { ...devices, handlers: new Map([[DEVICE_PLUGIN, devices.handler]]) };
}

/** Wires the plugins of this node: CSI drivers and device plugins.
 *  @param server undefined for a standalone agent */
export async function createPluginSubsystem(
  base: Base,
  objects: Parameters<typeof createCsiSubsystem>[1],
  server: ServerParts | undefined,
): Promise<{ readonly devices: DeviceSubsystem | undefined; readonly csi: Csi }> {
  const devices = await createDeviceSubsystem(base, server !== undefined);
  return { devices, csi: createCsiSubsystem(base, objects, server, devices?.handlers) };
}

const asksForDevices = ({ spec }: Pod, domain: string): boolean =>
  [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].some(({ resources }) =>
    Object.keys(resources?.limits ?? {}).some((resource) => isExtendedResource(resource, domain)),
  );

/** Retries pods that may be waiting for devices. */
export function retryDevicePods({ vocabulary }: Base, manager: PodManager): void {
  for (const worker of manager.workers()) {
    if (asksForDevices(worker.pod, vocabulary.domain)) worker.retry();
  }
}
