/** The CSI drivers that have registered on this node. Source: upstream's CSI plugin (`RegistrationHandler`), 1.24. */
import { createListeners } from '#api/kit/listeners.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { CsiServices } from '#cri/client/plugins.ts';
import { VolumeSetupError } from '../setup-error.ts';
import type { Driver, Drivers } from './contract.ts';
import type { Plugin, PluginHandler } from './registration.ts';

/** Type by which CSI drivers register. */
export const CSI_PLUGIN = 'CSIPlugin';

/** As the API server takes it. Source: csi.v1 GetPluginInfoResponse, at most 63 characters. */
const DRIVER_NAME = /^(?=.{1,63}$)[a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?$/;
const LONGEST_NODE_ID = 192;

/** A driver that says something which cannot be used. */
class DriverError extends Error {
  override readonly name = 'DriverError';
}

/** Whether one of the versions is of major version 1. */
function isSupported(versions: readonly string[]): boolean {
  return versions.some((version) => /^v?1(\.\d+)*([-+].*)?$/.test(version));
}

function check({ name, versions }: Plugin): void {
  if (!DRIVER_NAME.test(name)) {
    throw new DriverError(`driver name ${JSON.stringify(name.slice(0, 100))} is not a name of a CSI driver`);
  }
  if (isSupported(versions)) return;
  const told = versions.length === 0 ? 'none' : versions.join(', ');
  throw new DriverError(`CSI driver ${name} supports none of the versions 1.x; it tells ${told}`);
}

/** The driver as it describes itself and this node. */
async function ask({ name, endpoint }: Plugin, services: CsiServices, signal: AbortSignal): Promise<Driver> {
  const { node } = services;
  const { nodeId, maxVolumesPerNode, accessibleTopology } = await node.nodeGetInfo({}, { signal });
  const { capabilities } = await node.nodeGetCapabilities({}, { signal });
  if (nodeId === '' || nodeId.length > LONGEST_NODE_ID) {
    throw new DriverError(`CSI driver ${name} gives the node an ID of ${nodeId.length} characters`);
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

/** @param registryDir is named to people who look for a driver */
export function createDrivers(
  deps: DriversDeps,
  registryDir: string,
): Drivers & { readonly handler: PluginHandler } {
  const known = new Map<string, Driver>();
  const listeners = createListeners('CSI drivers');
  const tell = (): void => listeners.notify();

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
        deps.log.debug({ driver: driver.name, nodeID: driver.nodeID }, 'CSI driver is in use');
        tell();
      },
      deregister(name) {
        if (known.delete(name)) tell();
      },
    },
  };
}
