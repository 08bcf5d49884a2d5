/** Devices of plugins on this node: the manager, the ways in which plugins register, and what is loaded for them. */
import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { MetricsRegistry } from '#api/kit/metrics.ts';
import type { PluginClients } from '#cri/client/plugins.ts';
import type { RegisterRequest } from '#cri/gen/deviceplugin-v1beta1.ts';
import { type ServedService, serveSocket } from '#cri/server/serve-socket.ts';
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
  /** First word of the socket's and the checkpoint's names. */
  readonly agentName: string;
  /** Domain of the platform, whose resources no plugin may have. */
  readonly domain: string;
  /** Every memory node of the machine, as bits. */
  readonly machine: number;
  /** Whether a container that asks for a resource which no plugin has waits for one. */
  readonly waitsFor: (resource: string) => boolean;
}

export interface Devices {
  readonly manager: DeviceManager;
  /** Takes plugins that register in the folder of plugins. */
  readonly handler: PluginHandler;
  addMetrics(registry: MetricsRegistry): void;
}

/** Folder beneath the root directory in which plugins find the agent's socket and put their own. */
export const DEVICE_PLUGINS = 'device-plugins';

export const devicePluginSocket = (rootDir: string, agentName: string): string =>
  join(rootDir, DEVICE_PLUGINS, `${agentName}.sock`);

/** Sockets of plugins of an earlier time: plugins see theirs go, or ours come, and register again.
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

/** Most nodes have no plugin, and need nothing of this. */
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

/** Reads what an earlier agent left. Plugins come as long as the manager runs. */
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
        log.error({ err, socket: path }, 'Device plugins can not register');
      },
    );
    await ended;
    manager.stop();
    await server?.close();
    await manager.saved();
  }

  return { manager: { ...manager, run }, handler: registration.handler, addMetrics: metrics.add };
}
