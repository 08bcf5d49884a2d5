/** One device plugin that has registered: its list of devices, followed until it ends, and its calls. */
import { type Clock, sleep } from '#api/kit/clock.ts';
import { CriError } from '#cri/errors.ts';
import type { ContainerAllocateResponse, DevicePlugin } from '#cri/gen/deviceplugin-v1beta1.ts';
import type { PreferenceQuestion } from './choose.ts';
import { type Devices, parseDevices } from './stock.ts';

export interface PluginOptions {
  readonly preStartRequired: boolean;
  readonly getPreferredAllocationAvailable: boolean;
}

/** A plugin that answers what the protocol does not allow. */
export class DevicePluginError extends Error {
  override readonly name = 'DevicePluginError';
}

export interface PluginConnection {
  readonly options: PluginOptions;
  /** Follows the list of devices until it ends or the signal fires. @throws what ended it */
  follow(signal: AbortSignal, told: (devices: Devices) => void): Promise<void>;
  prefer(question: PreferenceQuestion): Promise<readonly string[]>;
  /** @throws CriError, DevicePluginError */
  allocate(devices: readonly string[]): Promise<ContainerAllocateResponse>;
  preStart(devices: readonly string[]): Promise<void>;
}

/** A plugin may register a moment before it serves. Source: upstream's patience, in ms. */
const PATIENCE_MS = 10_000;
const RETRY_MS = 200;

const isAway = (thrown: unknown): boolean => thrown instanceof CriError && thrown.reason === 'Unavailable';

export function createPluginConnection(
  clock: Clock,
  client: DevicePlugin,
  options: PluginOptions,
): PluginConnection {
  /** The list as often as it changes; waits for a plugin that does not serve yet. */
  async function* lists(signal: AbortSignal): AsyncGenerator<Devices> {
    const untilMs = clock.monotonic() + PATIENCE_MS;
    let answered = false;
    for (;;) {
      try {
        for await (const { devices } of client.listAndWatch({}, { signal })) {
          answered = true;
          yield parseDevices(devices);
        }
        return;
      } catch (thrown) {
        if (answered || !isAway(thrown) || clock.monotonic() >= untilMs) throw thrown;
        await sleep(clock, RETRY_MS, signal);
      }
    }
  }

  return {
    options,
    async follow(signal, told) {
      for await (const devices of lists(signal)) told(devices);
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
      const [answer] = containerResponses;
      if (answer === undefined) throw new DevicePluginError('the plugin answered for no container');
      return answer;
    },
    async preStart(devicesIds) {
      await client.preStartContainer({ devicesIds });
    },
  };
}
