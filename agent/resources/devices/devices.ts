/** Device plugins on this node: the manager, the registration paths, and lazily loaded protocol code. */
import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { MetricsRegistry } from '#api/kit/metrics.ts';
import type { PluginClients } from '#cri/client/plugins.ts';
import type { RegisterRequest } from '#cri/gen/deviceplugin-v1beta1.ts';
import { serveSocket } from '#cri/server/serve-socket.ts';
import type { ServedService } from '#cri/server/served-service.ts';
import type { PluginHandler } from '#volumes/csi/registration.ts';
import { createDeviceManager, type DeviceManager } from './manager.ts';
import { createDeviceMetrics } from './metrics.ts';
import type { DeviceProtocol } from './protocol.ts';
import { createDeviceRegistration, type DeviceRegistration } from './registration.ts';

export interface DevicesDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

export interface DevicesOptions {
  readonly rootDir: string;
  /** Prefix of the names of socket and checkpoint. */
  readonly agentName: string;
  /** Domain of the platform, whose resources plugins may not provide. */
  readonly domain: string;
  /** All NUMA nodes of the machine, as bits. */
  readonly machine: number;
  /** Reports whether a container waits for a plugin of a requested resource that none provides. */
  readonly waitsFor: (resource: string) => boolean;
}

export interface Devices {
  readonly manager: DeviceManager;
  /** Accepts plugins that register through the plugin directory. */
  readonly handler: PluginHandler;
  addMetrics(registry: MetricsRegistry): void;
}

/** Directory below the root directory with the registration socket and the sockets of plugins. */
const DEVICE_PLUGINS = 'device-plugins';

const devicePluginSocket = (rootDir: string, agentName: string): string =>
  join(rootDir, DEVICE_PLUGINS, `${agentName}.sock`);

/** Removes sockets of an earlier run: plugins notice the removal, or the new registration socket, and
 *  register again.
 *  Source: upstream's device manager, which removes all files but its checkpoint, release 1.24. */
async function removeSockets(dir: string): Promise<void> {
  const names = await readdir(dir).catch(() => []);
  for (const name of names) {
    const path = join(dir, name);
    const found = await lstat(path).catch(() => undefined);
    if (found?.isSocket() === true) await rm(path, { force: true });
  }
}

const isRegisterRequest = (message: object): message is RegisterRequest =>
  'version' in message && 'endpoint' in message && 'resourceName' in message;

/** Loaded on demand, since most nodes have no plugins. */
interface Loaded {
  readonly protocol: () => Promise<DeviceProtocol>;
  readonly clients: () => Promise<PluginClients>;
}

function createLoaded(): Loaded {
  let protocol: Promise<DeviceProtocol> | undefined;
  let clients: Promise<PluginClients> | undefined;
  return {
    protocol: () => (protocol ??= import('./protocol.ts').then((found) => found.loadDeviceProtocol())),
    clients: () =>
      (clients ??= import('#cri/client/plugins.ts').then((found) => found.createPluginClients())),
  };
}

async function loadService(
  { protocol }: Loaded,
  registration: DeviceRegistration,
): Promise<readonly ServedService[]> {
  const { types, registrationRpcs } = await protocol();
  const register = (request: object): object => {
    if (isRegisterRequest(request)) registration.register(request);
    return {};
  };
  return [{ types, rpcs: registrationRpcs, methods: { register } }];
}

/** Restores the state of an earlier run. Plugins can register while the manager runs. */
export async function createDevices(deps: DevicesDeps, options: DevicesOptions): Promise<Devices> {
  const { rootDir, agentName, domain, machine, waitsFor } = options;
  const { clock } = deps;
  const log = deps.log.child({ component: 'devices' });
  const dir = join(rootDir, DEVICE_PLUGINS);
  const metrics = createDeviceMetrics();
  const loaded = createLoaded();
  const manager = await createDeviceManager(
    {
      clock,
      log,
      messages: async () => (await loaded.protocol()).types,
      allocated: metrics.allocated,
    },
    { checkpointPath: join(dir, `${agentName}_internal_checkpoint`), machine, waitsFor },
  );
  const registration = createDeviceRegistration(
    {
      clock,
      log,
      manager,
      connect: async (path) => (await loaded.clients()).devicePlugin(path),
      registered: metrics.registered,
    },
    { dir, domain },
  );

  async function run(signal: AbortSignal): Promise<void> {
    const ended = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await removeSockets(dir);
    const path = devicePluginSocket(rootDir, agentName);
    const server = await serveSocket({ log, load: () => loadService(loaded, registration) }, path).catch(
      (err: unknown) => {
        log.error({ err, socket: path }, 'Failed to serve device plugin registration');
      },
    );
    await ended;
    manager.stop();
    await server?.close();
    await manager.saved();
  }

  return { manager: { ...manager, run }, handler: registration.handler, addMetrics: metrics.add };
}
