/** Device manager: registered plugins, device allocations, and the grants of containers.
 *
 *  Admission reserves devices; the plugin is called at the first start of the container and its response
 *  retained, so that a restarted container, under this agent or the next, gets the same devices. Source:
 *  upstream's device manager, release 1.24. */

import type { Clock } from '#api/kit/clock.ts';
import { createListeners } from '#api/kit/listeners.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { ResourceProvider } from '../contract.ts';
import type { NodeMask } from '../topology/hints.ts';
import { type AllocateParts, grantDevices } from './allocate.ts';
import { reserveDevices } from './book.ts';
import { createReservations, type Reservation } from './bookings.ts';
import { createCheckpointFile, readCheckpoint } from './checkpoint-file.ts';
import type { PluginConnection } from './plugin.ts';
import { createPlugins } from './plugins.ts';
import { createPodHints } from './pod-hints.ts';
import { createDeviceRequests } from './requests.ts';
import { createDeviceInventory, type Device } from './stock.ts';

export interface DeviceManagerDeps extends Pick<AllocateParts, 'messages' | 'allocated'> {
  readonly clock: Clock;
  readonly log: Logger;
}

export interface DeviceManagerOptions {
  readonly checkpointPath: string;
  /** All NUMA nodes of the machine. */
  readonly machine: NodeMask;
  /** Reports whether a container waits for a plugin of a requested resource that none provides. */
  readonly waitsFor: (resource: string) => boolean;
}

/** Devices of one resource that a container has. */
export interface AllocatedDevices {
  readonly resource: string;
  readonly devices: readonly Pick<Device, 'id' | 'nodes'>[];
}

export interface DeviceManager extends ResourceProvider {
  /** Follows a registered plugin. Resolves with its first device list. */
  register(resource: string, plugin: PluginConnection): Promise<void>;
  deregister(resource: string): void;
  /** Reports whether a plugin provides this resource, or did so within the grace period. */
  knows(resource: string): boolean;
  held(podUID: string, container: string): readonly AllocatedDevices[];
  /** Healthy devices, including those in use. */
  allocatable(): readonly AllocatedDevices[];
  /** Resolves once the reservations are persisted. */
  saved(): Promise<void>;
  stop(): void;
}

export async function createDeviceManager(
  given: DeviceManagerDeps,
  { checkpointPath, machine, waitsFor }: DeviceManagerOptions,
): Promise<DeviceManager> {
  const log = given.log.child({ component: 'devices' });
  const before = await readCheckpoint(log, checkpointPath);
  const inventory = createDeviceInventory(before.registered.keys());
  let isFresh = before.isMissing === true;
  const reservations = createReservations(before.entries);
  const listeners = createListeners('devices');
  const healthy = (resource: string): readonly Device[] =>
    [...inventory.devices(resource).values()].filter((device) => device.healthy);
  const current = () => ({
    entries: reservations.all(),
    registered: new Map(inventory.resources().map((name) => [name, healthy(name).map(({ id }) => id)])),
  });
  const file = createCheckpointFile({ log, current }, checkpointPath);
  const changed = (): void => {
    file.touch();
    listeners.notify();
  };
  const plugins = createPlugins({ clock: given.clock, log, inventory, changed });
  plugins.expect(inventory.resources());
  const requests = createDeviceRequests(inventory, reservations);
  const parts: AllocateParts = {
    ...given,
    log,
    reservations,
    requests,
    plugin: (resource) => plugins.find(resource),
    isMissing: (resource) => waitsFor(resource) && !inventory.knows(resource),
    touch: () => file.touch(),
    saved: () => file.saved(),
  };

  return {
    name: 'devices',
    ...createPodHints({ inventory, reservations, requests, machine }),
    allocate(request, where) {
      if (reserveDevices(parts, request, where.nodes)) file.touch();
    },
    holders: () => reservations.holders(),
    release(podUID) {
      if (reservations.release(podUID)) file.touch();
    },
    grant: (request) => grantDevices(parts, request),
    resources: () => ({ ...inventory.counts(), ...(isFresh ? { forgotten: true } : {}) }),
    statusWritten() {
      if (!isFresh) return;
      isFresh = false;
      // The file exists from now on, though it may be empty: only a node that lost it starts from an unknown
      // state.
      file.touch();
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    register: (resource, plugin) => plugins.take(resource, plugin),
    deregister: (resource) => plugins.drop(resource),
    knows: (resource) => inventory.knows(resource),
    held: (podUID, container) =>
      reservations.of(podUID, container).map(({ resource, devices }) => ({
        resource,
        devices: heldDevices(devices),
      })),
    allocatable: () => inventory.resources().map((resource) => ({ resource, devices: healthy(resource) })),
    saved: () => file.saved(),
    stop: () => plugins.stop(),
  };
}

/** As at the reservation: the plugin may have disconnected since. */
function heldDevices(byNumber: Reservation['devices']): AllocatedDevices['devices'] {
  const nodes = new Map<string, number[]>();
  for (const [node, devices] of byNumber) {
    for (const device of devices) {
      const known = nodes.get(device) ?? [];
      nodes.set(device, node < 0 ? known : [...known, node]);
    }
  }
  return [...nodes].map(([id, of]) => ({ id, nodes: of }));
}
