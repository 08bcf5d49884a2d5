/** CSI on a node: plugin registration, CSI drivers, and the services for volumes. */
import { join } from 'node:path';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Waits } from '#api/kit/waits.ts';
import type { PluginClients } from '#cri/client/plugins.ts';
import type { Attacher, CsiVolumes } from '../contract/csi.ts';
import { CSI_PLUGIN, createDrivers } from './drivers.ts';
import { createPluginRegistry, type PluginHandler, type PluginRegistry } from './registration.ts';

export interface CsiDeps extends Pick<CsiVolumes, 'driverObject'> {
  readonly rootDir: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Reports plugins whose registration takes long. */
  readonly waits?: Pick<Waits, 'begin'>;
  /** Enabled feature gates. */
  readonly gates: ReadonlySet<string>;
  readonly apiGroupDomain: string;
  readonly attacher?: Attacher;
  /** Handlers of other plugin types. */
  readonly handlers?: ReadonlyMap<string, PluginHandler>;
}

export interface Csi {
  readonly volumes: CsiVolumes;
  readonly registry: PluginRegistry;
}

/** Directory beneath the root directory in which plugins create their sockets. */
export const PLUGIN_REGISTRY = 'plugins_registry';

export function createCsi(deps: CsiDeps): Csi {
  const { rootDir, clock, log, driverObject, gates, apiGroupDomain, attacher } = deps;
  const registryDir = join(rootDir, PLUGIN_REGISTRY);
  let clients: Promise<PluginClients> | undefined;
  // Most nodes have no plugin, and load no clients.
  const load = (): Promise<PluginClients> =>
    (clients ??= import('#cri/client/plugins.ts').then(({ createPluginClients }) => createPluginClients()));
  const { handler, ...drivers } = createDrivers(
    { log, connect: async (endpoint) => (await load()).csi(endpoint) },
    registryDir,
  );
  const registry = createPluginRegistry(
    {
      connect: async (socketPath) => (await load()).registration(socketPath),
      clock,
      log,
      ...(deps.waits === undefined ? {} : { waits: deps.waits }),
      handlers: new Map([...(deps.handlers ?? []), [CSI_PLUGIN, handler]]),
    },
    registryDir,
  );
  return {
    registry,
    volumes: {
      drivers,
      driverObject,
      gates,
      apiGroupDomain,
      ...(attacher === undefined ? {} : { attacher }),
    },
  };
}
