/** Devices of plugins, wired. Nothing of them is loaded but a socket until a plugin comes. */
import { readFile } from 'node:fs/promises';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import type { Csi } from '#volumes/csi/csi.ts';
import type { PluginHandler } from '#volumes/csi/registration.ts';
import { featureEnabled } from '../config/feature-gates.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import { parseCpuSet } from '../resources/cpu/cpu-set.ts';
import { createDevices, type Devices } from '../resources/devices/devices.ts';
import { DEVICE_PLUGIN } from '../resources/devices/registration.ts';
import { isExtendedResource } from '../resources/devices/resource-name.ts';
import { maskOf, type NodeMask } from '../resources/topology/hints.ts';
import type { Base } from './base.ts';
import { createCsiSide } from './csi-side.ts';
import type { ServerParts } from './server-parts.ts';

export interface DeviceSide extends Devices {
  /** Of plugins that register in the folder of plugins. */
  readonly handlers: ReadonlyMap<string, PluginHandler>;
}

const ONLINE_NODES = '/sys/devices/system/node/online';

/** Every memory node; one where the kernel doesn't tell. */
async function memoryNodes(): Promise<NodeMask> {
  const text = await readFile(ONLINE_NODES, 'utf8').catch(() => '');
  return maskOf(parseCpuSet(text.trim() === '' ? '0' : text.trim()));
}

/** @param joined whether there is an API server, where resources may be known that no node has */
async function createDeviceSide(base: Base, joined: boolean): Promise<DeviceSide | undefined> {
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

/** The plugins of this node: CSI drivers and devices.
 *  @param server undefined for a standalone agent */
export async function createPluginSide(
  base: Base,
  objects: Parameters<typeof createCsiSide>[1],
  server: ServerParts | undefined,
): Promise<{ readonly devices: DeviceSide | undefined; readonly csi: Csi }> {
  const devices = await createDeviceSide(base, server !== undefined);
  return { devices, csi: createCsiSide(base, objects, server, devices?.handlers) };
}

const asksForDevices = ({ spec }: Pod, domain: string): boolean =>
  [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].some(({ resources }) =>
    Object.keys(resources?.limits ?? {}).some((resource) => isExtendedResource(resource, domain)),
  );

/** Has pods that may be waiting for devices try again. */
export function retryDevicePods({ vocabulary }: Base, manager: PodManager): void {
  for (const worker of manager.workers()) {
    if (asksForDevices(worker.pod, vocabulary.domain)) worker.retry();
  }
}
