/** CSI drivers that have registered on this node. Source: upstream's CSI plugin (`RegistrationHandler`),
 *  1.24. */
import { createListeners } from '#api/kit/listeners.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { CsiServices } from '#cri/client/plugins.ts';
import type { Driver, Drivers } from '../contract/csi.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import type { Plugin, PluginHandler } from './registration.ts';

/** Plugin type of CSI drivers. */
export const CSI_PLUGIN = 'CSIPlugin';

/** As the API server validates it. Source: csi.v1 GetPluginInfoResponse, at most 63 characters. */
const DRIVER_NAME = /^(?=.{1,63}$)[a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?$/;
const MAX_NODE_ID_LENGTH = 192;

/** A driver that reports invalid data. */
class DriverError extends Error {
  override readonly name = 'DriverError';
}

/** Reports whether one of the versions has major version 1. */
function isSupported(versions: readonly string[]): boolean {
  return versions.some((version) => {
    const [release = ''] = version.split(/[-+]/, 1);
    const [major = '', ...minor] = release.split('.');
    return /^v?1$/.test(major) && minor.every((number) => /^\d+$/.test(number));
  });
}

function check({ name, versions }: Plugin): void {
  if (!DRIVER_NAME.test(name)) {
    throw new DriverError(`driver name ${JSON.stringify(name.slice(0, 100))} is not a valid CSI driver name`);
  }
  if (isSupported(versions)) return;
  const reported = versions.length === 0 ? 'none' : versions.join(', ');
  throw new DriverError(`CSI driver ${name} supports no 1.x version; it reports ${reported}`);
}

/** Returns the driver's description of itself and this node. */
async function ask({ name, endpoint }: Plugin, services: CsiServices, signal: AbortSignal): Promise<Driver> {
  const { node } = services;
  const { nodeId, maxVolumesPerNode, accessibleTopology } = await node.nodeGetInfo({}, { signal });
  const { capabilities } = await node.nodeGetCapabilities({}, { signal });
  if (nodeId === '' || nodeId.length > MAX_NODE_ID_LENGTH) {
    throw new DriverError(`CSI driver ${name} reports a node ID of ${nodeId.length} characters`);
  }
  return {
    name,
    endpoint,
    nodeID: nodeId,
    topology: accessibleTopology?.segments ?? {},
    maxVolumes: maxVolumesPerNode > 0n ? Number(maxVolumesPerNode) : undefined,
    capabilities: new Set(capabilities.flatMap(({ rpc }) => (rpc === undefined ? [] : [rpc.type]))),
    node,
  };
}

export interface DriversDeps {
  /** @throws EndpointError */
  readonly connect: (endpoint: string) => Promise<CsiServices>;
  readonly log: Logger;
}

/** @param registryDir is named in errors about missing drivers */
export function createDrivers(
  deps: DriversDeps,
  registryDir: string,
): Drivers & { readonly handler: PluginHandler } {
  const known = new Map<string, Driver>();
  const listeners = createListeners('CSI drivers');
  const notify = (): void => listeners.notify();

  return {
    list: () => [...known.values()],
    get(name) {
      const driver = known.get(name);
      if (driver !== undefined) return driver;
      throw new VolumeSetupError(
        `CSI driver ${name} has not registered on this node: it has no socket in ${registryDir} yet`,
      );
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    handler: {
      async register(plugin, signal) {
        check(plugin);
        const driver = await ask(plugin, await deps.connect(plugin.endpoint), signal);
        signal.throwIfAborted();
        known.set(driver.name, driver);
        deps.log.debug({ driver: driver.name, nodeID: driver.nodeID }, 'CSI driver registered');
        notify();
      },
      deregister(name) {
        if (known.delete(name)) notify();
      },
    },
  };
}
