/** Device plugins of this node by resource: they register, are followed, replaced, and removed.
 *
 *      registered ─▶ followed ──▶ stream ended ─▶ devices unhealthy ─▶ 5 minutes ─▶ resource removed
 *                        │  registered again ◀──────────┘
 *                        ▼
 *                  the newer one replaces it
 *
 *  Source: upstream's device manager, release 1.24. */
import type { Clock, Timer } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { PluginConnection } from './plugin.ts';
import type { DeviceInventory } from './stock.ts';

/** Source: upstream's grace period of stopped endpoints. */
const GONE_AFTER_MS = 5 * 60_000;

export interface PluginsDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly inventory: DeviceInventory;
  /** Called whenever the devices have changed. */
  readonly changed: () => void;
}

export interface Plugins {
  /** Follows a plugin in place of the previous one. Resolves with the first device list, or when the plugin
   *  fails. */
  take(resource: string, plugin: PluginConnection): Promise<void>;
  /** Undefined while no plugin is registered. */
  find(resource: string): PluginConnection | undefined;
  drop(resource: string): void;
  /** Awaits plugins of an earlier run, like disconnected ones. */
  expect(resources: Iterable<string>): void;
  stop(): void;
}

interface Followed {
  readonly plugin: PluginConnection;
  readonly stop: AbortController;
}

export function createPlugins({ clock, log, inventory, changed }: PluginsDeps): Plugins {
  const followed = new Map<string, Followed>();
  const timers = new Map<string, Timer>();

  function awaitReturn(resource: string): void {
    timers.get(resource)?.cancel();
    const gone = (): void => {
      timers.delete(resource);
      inventory.remove(resource);
      log.info({ resource }, 'Devices removed; their plugin did not re-register');
      changed();
    };
    timers.set(resource, clock.setTimer(gone, GONE_AFTER_MS));
  }

  function forgetTimer(resource: string): void {
    timers.get(resource)?.cancel();
    timers.delete(resource);
  }

  function lost(resource: string): void {
    followed.delete(resource);
    inventory.spoil(resource);
    awaitReturn(resource);
    changed();
  }

  async function follow(resource: string, entry: Followed, first: () => void): Promise<void> {
    const isCurrent = (): boolean => followed.get(resource) === entry;
    try {
      await entry.plugin.follow(entry.stop.signal, (devices) => {
        if (!isCurrent()) return;
        inventory.set(resource, devices);
        changed();
        first();
      });
      if (isCurrent()) log.warn({ resource }, 'Device plugin closed its device stream');
    } catch (thrown) {
      if (isCurrent()) log.warn({ err: asError(thrown), resource }, 'Device plugin disconnected');
    } finally {
      if (isCurrent()) lost(resource);
      first();
    }
  }

  return {
    take(resource, plugin) {
      const entry = { plugin, stop: new AbortController() };
      const before = followed.get(resource);
      followed.set(resource, entry);
      before?.stop.abort(new Error('another plugin has registered'));
      forgetTimer(resource);
      return new Promise((resolve) => void follow(resource, entry, resolve));
    },
    find: (resource) => followed.get(resource)?.plugin,
    drop(resource) {
      const entry = followed.get(resource);
      if (entry === undefined) return;
      lost(resource);
      entry.stop.abort(new Error('the plugin disconnected'));
    },
    expect(resources) {
      for (const resource of resources) awaitReturn(resource);
    },
    stop() {
      for (const resource of timers.keys()) forgetTimer(resource);
      const entries = [...followed.values()];
      followed.clear();
      for (const { stop } of entries) stop.abort(new Error('agent is stopping'));
    },
  };
}
