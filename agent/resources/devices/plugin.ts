/** Connection to one registered device plugin: its device stream, followed until it ends, and its calls. */
import { type Clock, sleep } from '#api/kit/clock.ts';
import { CriError } from '#cri/errors.ts';
import type { ContainerAllocateResponse, DevicePlugin } from '#cri/gen/deviceplugin-v1beta1.ts';
import type { PreferenceRequest } from './choose.ts';
import { type Devices, parseDevices } from './stock.ts';

export interface PluginOptions {
  readonly preStartRequired: boolean;
  readonly getPreferredAllocationAvailable: boolean;
}

/** A response of a plugin that violates the protocol. */
export class DevicePluginError extends Error {
  override readonly name = 'DevicePluginError';
}

export interface PluginConnection {
  readonly options: PluginOptions;
  /** Follows the device stream until it ends or the signal fires. @throws the error that ended it */
  follow(signal: AbortSignal, onDevices: (devices: Devices) => void): Promise<void>;
  prefer(request: PreferenceRequest): Promise<readonly string[]>;
  /** @throws CriError, DevicePluginError */
  allocate(devices: readonly string[]): Promise<ContainerAllocateResponse>;
  preStart(devices: readonly string[]): Promise<void>;
}

/** Time that a plugin may take to serve after its registration, in ms. Source: upstream. */
const CONNECT_TIMEOUT_MS = 10_000;
const RETRY_MS = 200;

const isAway = (thrown: unknown): boolean => thrown instanceof CriError && thrown.reason === 'Unavailable';

export function createPluginConnection(
  clock: Clock,
  client: DevicePlugin,
  options: PluginOptions,
): PluginConnection {
  /** Yields the device list at each change; waits for a plugin that does not serve yet. */
  async function* lists(signal: AbortSignal): AsyncGenerator<Devices> {
    const untilMs = clock.monotonic() + CONNECT_TIMEOUT_MS;
    let responded = false;
    for (;;) {
      try {
        for await (const { devices } of client.listAndWatch({}, { signal })) {
          responded = true;
          yield parseDevices(devices);
        }
        return;
      } catch (thrown) {
        if (responded || !isAway(thrown) || clock.monotonic() >= untilMs) throw thrown;
        await sleep(clock, RETRY_MS, signal);
      }
    }
  }

  return {
    options,
    async follow(signal, onDevices) {
      for await (const devices of lists(signal)) onDevices(devices);
    },
    async prefer({ available, mustInclude, size }) {
      const request = {
        availableDeviceIDs: available,
        mustIncludeDeviceIDs: mustInclude,
        allocationSize: size,
      };
      const { containerResponses } = await client.getPreferredAllocation({ containerRequests: [request] });
      return containerResponses[0]?.deviceIDs ?? [];
    },
    async allocate(devicesIds) {
      const { containerResponses } = await client.allocate({ containerRequests: [{ devicesIds }] });
      const [response] = containerResponses;
      if (response === undefined) throw new DevicePluginError('the plugin returned no container response');
      return response;
    },
    async preStart(devicesIds) {
      await client.preStartContainer({ devicesIds });
    },
  };
}
