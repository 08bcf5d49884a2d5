/** Device inventory: the latest device lists of plugins, and the remaining devices of disconnected ones. No
 *  I/O. */
import type { ListAndWatchResponse } from '#cri/gen/deviceplugin-v1beta1.ts';
import type { ExtendedResources } from '../../machine/extended-resources.ts';

export interface Device {
  readonly id: string;
  readonly healthy: boolean;
  /** NUMA nodes of the device; empty for one without NUMA information. */
  readonly nodes: readonly number[];
}

export type Devices = ReadonlyMap<string, Device>;

/** As spelled by the protocol. */
const HEALTHY = 'Healthy';

export function parseDevices(devices: ListAndWatchResponse['devices']): Devices {
  return new Map(
    devices.map(({ ID, health, topology }) => [
      ID,
      { id: ID, healthy: health === HEALTHY, nodes: (topology?.nodes ?? []).map((node) => Number(node.ID)) },
    ]),
  );
}

export interface DeviceInventory {
  /** Reports whether a plugin provides this resource, or did so within the grace period. */
  knows(resource: string): boolean;
  resources(): readonly string[];
  devices(resource: string): Devices;
  set(resource: string, devices: Devices): void;
  /** Marks the devices of a disconnected plugin as unhealthy. */
  spoil(resource: string): void;
  /** Removes the resource for good. */
  remove(resource: string): void;
  counts(): ExtendedResources;
}

const NONE: Devices = new Map();

/** @param restored resources of an earlier run, which count as empty until their plugins register again */
export function createDeviceInventory(restored: Iterable<string>): DeviceInventory {
  const known = new Map<string, Devices>([...restored].map((resource) => [resource, NONE]));
  const removed = new Set<string>();
  const count = (of: (devices: readonly Device[]) => number): Readonly<Record<string, string>> =>
    Object.fromEntries(
      [...known].map(([resource, devices]) => [resource, String(of([...devices.values()]))]),
    );

  return {
    knows: (resource) => known.has(resource),
    resources: () => [...known.keys()],
    devices: (resource) => known.get(resource) ?? NONE,
    set(resource, devices) {
      known.set(resource, devices);
      removed.delete(resource);
    },
    spoil(resource) {
      const devices = known.get(resource);
      if (devices === undefined) return;
      known.set(resource, new Map([...devices].map(([id, device]) => [id, { ...device, healthy: false }])));
    },
    remove(resource) {
      if (known.delete(resource)) removed.add(resource);
    },
    counts: () => ({
      capacity: count((devices) => devices.length),
      allocatable: count((devices) => devices.filter(({ healthy }) => healthy).length),
      removed: [...removed],
    }),
  };
}
