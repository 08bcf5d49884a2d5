/** Which devices there are: what plugins told last, and what is left of those that are gone. No I/O. */
import type { ListAndWatchResponse } from '#cri/gen/deviceplugin-v1beta1.ts';
import type { ExtendedResources } from '../contract.ts';

export interface Device {
  readonly id: string;
  readonly healthy: boolean;
  /** Memory nodes that it is near; none for one that says nothing. */
  readonly nodes: readonly number[];
}

export type Devices = ReadonlyMap<string, Device>;

/** As the protocol spells it. */
const HEALTHY = 'Healthy';

export function parseDevices(devices: ListAndWatchResponse['devices']): Devices {
  return new Map(
    devices.map(({ ID, health, topology }) => [
      ID,
      { id: ID, healthy: health === HEALTHY, nodes: (topology?.nodes ?? []).map((node) => Number(node.ID)) },
    ]),
  );
}

export interface Stock {
  /** Whether a plugin has this resource, or had it a short while ago. */
  knows(resource: string): boolean;
  resources(): readonly string[];
  devices(resource: string): Devices;
  set(resource: string, devices: Devices): void;
  /** The plugin is gone: its devices stay, but are no longer healthy. */
  spoil(resource: string): void;
  /** The resource is gone for good. */
  remove(resource: string): void;
  figures(): ExtendedResources;
}

const NONE: Devices = new Map();

/** @param restored resources of an earlier agent, which count as empty until their plugins come back */
export function createStock(restored: Iterable<string>): Stock {
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
    figures: () => ({
      capacity: count((devices) => devices.length),
      allocatable: count((devices) => devices.filter(({ healthy }) => healthy).length),
      removed: [...removed],
    }),
  };
}
