/** How device plugins register: by a call at the agent's own socket, or by a socket of theirs in the folder of plugins.
 *  Source: deviceplugin.v1beta1; upstream's device manager, release 1.24. */
import { basename, isAbsolute, join } from 'node:path';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { DevicePlugin, RegisterRequest } from '#cri/gen/deviceplugin-v1beta1.ts';
import { CallRefusal } from '#cri/server/serve-socket.ts';
import type { PluginHandler } from '#volumes/csi/registration.ts';
import type { DeviceManager } from './manager.ts';
import { createPluginConnection, DevicePluginError, type PluginOptions } from './plugin.ts';
import { isExtendedResource } from './resource-name.ts';

/** Type under which plugins in the folder of plugins say that they have devices. */
export const DEVICE_PLUGIN = 'DevicePlugin';
const VERSION = 'v1beta1';
const NO_OPTIONS: PluginOptions = { preStartRequired: false, getPreferredAllocationAvailable: false };

export interface DeviceRegistrationDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly manager: Pick<DeviceManager, 'register' | 'deregister'>;
  /** Connects with a plugin at its socket. */
  readonly connect: (socketPath: string) => Promise<DevicePlugin>;
  /** Told of every registration. */
  readonly registered?: ((resource: string) => void) | undefined;
}

export interface DeviceRegistrationOptions {
  /** Folder of the agent's own socket, in which those of plugins lie. */
  readonly dir: string;
  /** Domain of the platform, whose resources no plugin may have. */
  readonly domain: string;
}

export interface DeviceRegistration {
  /** @throws CallRefusal */
  register(request: RegisterRequest): void;
  readonly handler: PluginHandler;
}

function refusedBecause(versions: readonly string[], resource: string, domain: string): string | undefined {
  if (!versions.includes(VERSION)) {
    return `requested API version "${versions.join(', ')}" is not supported; supported is "${VERSION}"`;
  }
  if (!isExtendedResource(resource, domain)) return `the ResourceName "${resource}" is invalid`;
  return undefined;
}

export function createDeviceRegistration(
  { clock, log, manager, connect, registered }: DeviceRegistrationDeps,
  { dir, domain }: DeviceRegistrationOptions,
): DeviceRegistration {
  async function take(resource: string, socketPath: string, options?: PluginOptions): Promise<void> {
    const client = await connect(socketPath);
    const known = options ?? (await client.getDevicePluginOptions({}));
    registered?.(resource);
    log.info({ resource, socket: socketPath }, 'Device plugin registered');
    await manager.register(resource, createPluginConnection(clock, client, known));
  }

  return {
    register({ version, endpoint, resourceName: resource, options }) {
      const wrong = refusedBecause([version], resource, domain);
      if (wrong !== undefined) throw new CallRefusal('InvalidArgument', wrong);
      // Nobody is sent to a socket elsewhere.
      if (endpoint === '' || basename(endpoint) !== endpoint || endpoint.startsWith('.')) {
        throw new CallRefusal(
          'InvalidArgument',
          `the endpoint "${endpoint}" is not the name of a socket in ${dir}`,
        );
      }
      // The plugin has its answer before it is called: it may begin to serve only then.
      take(resource, join(dir, endpoint), options ?? NO_OPTIONS).catch((err: unknown) => {
        log.warn({ err, resource, endpoint }, 'Device plugin could not be followed');
      });
    },
    handler: {
      async register({ name, endpoint, versions }) {
        const wrong = refusedBecause(versions, name, domain);
        if (wrong !== undefined) throw new DevicePluginError(wrong);
        if (!isAbsolute(endpoint)) throw new DevicePluginError(`the endpoint "${endpoint}" is not a path`);
        await take(name, endpoint);
      },
      deregister: (name) => manager.deregister(name),
    },
  };
}
