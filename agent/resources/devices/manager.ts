/** The devices that plugins bring to this node: who registered, who has which, and what containers get of them.
 *
 *  Admission books devices; the plugin is asked at the first start of the container, and what it answered is kept, so
 *  that a container that starts again, under this agent or the next, gets the same. Source: upstream's device manager,
 *  release 1.24. */

import type { Clock } from '#api/kit/clock.ts';
import { createListeners } from '#api/kit/listeners.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { ResourceProvider } from '../contract.ts';
import type { NodeMask } from '../topology/hints.ts';
import { type AllocateParts, grantDevices } from './allocate.ts';
import { bookDevices } from './book.ts';
import { type Booking, createBookings } from './bookings.ts';
import { createCheckpointFile, readCheckpoint } from './checkpoint-file.ts';
import type { PluginConnection } from './plugin.ts';
import { createPlugins } from './plugins.ts';
import { createPodHints } from './pod-hints.ts';
import { createDeviceRequests } from './requests.ts';
import { createStock, type Device } from './stock.ts';

export interface DeviceManagerDeps extends Pick<AllocateParts, 'messages' | 'allocated'> {
  readonly clock: Clock;
  readonly log: Logger;
}

export interface DeviceManagerOptions {
  readonly checkpointPath: string;
  /** Every memory node of the machine. */
  readonly machine: NodeMask;
  /** Whether a container that asks for a resource which no plugin has waits for one. */
  readonly waitsFor: (resource: string) => boolean;
}

/** Devices of one container of one resource. */
export interface HeldDevices {
  readonly resource: string;
  readonly devices: readonly Pick<Device, 'id' | 'nodes'>[];
}

export interface DeviceManager extends ResourceProvider {
  /** Follows a plugin that has registered. Resolves with its first list of devices. */
  register(resource: string, plugin: PluginConnection): Promise<void>;
  deregister(resource: string): void;
  /** Whether a plugin has this resource, or had it a short while ago. */
  knows(resource: string): boolean;
  held(podUID: string, container: string): readonly HeldDevices[];
  /** Healthy devices, also those that are in use. */
  allocatable(): readonly HeldDevices[];
  /** Resolves when what was booked is on disk. */
  saved(): Promise<void>;
  stop(): void;
}

export async function createDeviceManager(
  given: DeviceManagerDeps,
  { checkpointPath, machine, waitsFor }: DeviceManagerOptions,
): Promise<DeviceManager> {
  const log = given.log.child({ component: 'devices' });
  const before = await readCheckpoint(log, checkpointPath);
  const stock = createStock(before.registered.keys());
  let isFresh = before.isMissing === true;
  const bookings = createBookings(before.entries);
  const listeners = createListeners('devices');
  const healthy = (resource: string): readonly Device[] =>
    [...stock.devices(resource).values()].filter((device) => device.healthy);
  const current = () => ({
    entries: bookings.all(),
    registered: new Map(stock.resources().map((name) => [name, healthy(name).map(({ id }) => id)])),
  });
  const file = createCheckpointFile({ log, current }, checkpointPath);
  const changed = (): void => {
    file.touch();
    listeners.notify();
  };
  const plugins = createPlugins({ clock: given.clock, log, stock, changed });
  plugins.expect(stock.resources());
  const requests = createDeviceRequests(stock, bookings);
  const parts: AllocateParts = {
    ...given,
    log,
    bookings,
    requests,
    plugin: (resource) => plugins.find(resource),
    isMissing: (resource) => waitsFor(resource) && !stock.knows(resource),
    touch: () => file.touch(),
    saved: () => file.saved(),
  };

  return {
    name: 'devices',
    ...createPodHints({ stock, bookings, requests, machine }),
    allocate(request, where) {
      if (bookDevices(parts, request, where.nodes)) file.touch();
    },
    holders: () => bookings.holders(),
    release(podUID) {
      if (bookings.release(podUID)) file.touch();
    },
    grant: (request) => grantDevices(parts, request),
    resources: () => ({ ...stock.figures(), ...(isFresh ? { forgotten: true } : {}) }),
    told() {
      if (!isFresh) return;
      isFresh = false;
      // There from now on, though it may say nothing: only a node that lost it begins anew.
      file.touch();
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    register: (resource, plugin) => plugins.take(resource, plugin),
    deregister: (resource) => plugins.drop(resource),
    knows: (resource) => stock.knows(resource),
    held: (podUID, container) =>
      bookings.of(podUID, container).map(({ resource, devices }) => ({
        resource,
        devices: heldDevices(devices),
      })),
    allocatable: () => stock.resources().map((resource) => ({ resource, devices: healthy(resource) })),
    saved: () => file.saved(),
    stop: () => plugins.stop(),
  };
}

/** As they were when they were booked: the plugin may be gone. */
function heldDevices(byNumber: Booking['devices']): HeldDevices['devices'] {
  const nodes = new Map<string, number[]>();
  for (const [node, devices] of byNumber) {
    for (const device of devices) {
      const known = nodes.get(device) ?? [];
      nodes.set(device, node < 0 ? known : [...known, node]);
    }
  }
  return [...nodes].map(([id, of]) => ({ id, nodes: of }));
}
