/** Registration of device plugins: by a call to the agent's socket, or by their own socket in the plugin
 *  directory.
 *  Source: deviceplugin.v1beta1; upstream's device manager, release 1.24. */
import { basename, isAbsolute, join } from 'node:path';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { isExtendedResource } from '#api/meta/extended-resource.ts';
import type { DevicePlugin, RegisterRequest } from '#cri/gen/deviceplugin-v1beta1.ts';
import { CallRejection } from '#cri/server/rejection.ts';
import type { PluginHandler } from '#volumes/csi/registration.ts';
import type { DeviceManager } from './manager.ts';
import { createPluginConnection, DevicePluginError, type PluginOptions } from './plugin.ts';

/** Plugin type of device plugins in the plugin directory. */
export const DEVICE_PLUGIN = 'DevicePlugin';
const VERSION = 'v1beta1';
const NO_OPTIONS: PluginOptions = { preStartRequired: false, getPreferredAllocationAvailable: false };

export interface DeviceRegistrationDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly manager: Pick<DeviceManager, 'register' | 'deregister'>;
  /** Connects to a plugin at its socket. */
  readonly connect: (socketPath: string) => Promise<DevicePlugin>;
  /** Called for every registration. */
  readonly registered?: ((resource: string) => void) | undefined;
}

export interface DeviceRegistrationOptions {
  /** Directory of the agent's socket, which also contains those of plugins. */
  readonly dir: string;
  /** Domain of the platform, whose resources plugins may not provide. */
  readonly domain: string;
}

export interface DeviceRegistration {
  /** @throws CallRejection */
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
      if (wrong !== undefined) throw new CallRejection('InvalidArgument', wrong);
      // Sockets outside the directory are rejected.
      if (endpoint === '' || basename(endpoint) !== endpoint || endpoint.startsWith('.')) {
        throw new CallRejection(
          'InvalidArgument',
          `the endpoint "${endpoint}" is not the name of a socket in ${dir}`,
        );
      }
      // Responds before connecting: the plugin may start to serve only then.
      take(resource, join(dir, endpoint), options ?? NO_OPTIONS).catch((err: unknown) => {
        log.warn({ err, resource, endpoint }, 'Failed to watch device plugin');
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
