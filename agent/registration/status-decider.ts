/** Gathers the facts of the node status, and computes it. */

import type { ContainerImage, Node } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { ExtendedResources } from '../machine/extended-resources.ts';
import type { MachineReader } from '../machine/read-machine.ts';
import type { Pressure } from './conditions.ts';
import { decideImages, type NodeImage } from './node-images.ts';
import { decideStatus, type StatusDecision, type StatusInputs, type StatusRules } from './node-status.ts';
import type { RuntimeState } from './runtime-state.ts';

/** Facts besides those of machine and runtime. */
export interface StatusSources {
  /** Default: no images are reported. */
  readonly readImages?: (signal: AbortSignal) => Promise<readonly NodeImage[]>;
  /** Default: none. */
  readonly pressure?: () => Pressure;
  /** Further reasons why the node is not ready, such as a shutdown. Default: none. */
  readonly troubles?: () => readonly string[];
  /** Names of volumes in use, undefined while unknown; receives the last reported ones. Default: not
   *  reported. */
  readonly volumesInUse?: (reported: readonly string[]) => readonly string[] | undefined;
  /** Extended resources of device plugins. Default: none. */
  readonly extended?: () => ExtendedResources | undefined;
}

export interface StatusDeciderDeps extends StatusSources {
  readonly clock: Clock;
  readonly log: Logger;
  readonly readMachine: MachineReader;
  readonly runtime: Pick<RuntimeState, 'troubles' | 'version'>;
}

export interface StatusDeciderOptions {
  readonly rules: StatusRules;
  /** -1 is all. */
  readonly mostImages: number;
}

export type StatusDecider = (node: Node, signal: AbortSignal) => Promise<StatusDecision>;

/** Images change rarely, and their list is long. */
const IMAGES_TTL_MS = 30_000;
const NO_PRESSURE: Pressure = { memory: false, disk: false, pid: false };

/** Returns the cached list of images, refreshed when it is old. */
function createImageList(
  { clock, log, readImages }: Pick<StatusDeciderDeps, 'clock' | 'log' | 'readImages'>,
  most: number,
): (signal: AbortSignal) => Promise<readonly ContainerImage[] | undefined> {
  let known: readonly ContainerImage[] | undefined;
  let readAtMs = Number.NEGATIVE_INFINITY;
  return async (signal) => {
    if (readImages === undefined || clock.monotonic() - readAtMs < IMAGES_TTL_MS) return known;
    try {
      known = decideImages(await readImages(signal), most);
      readAtMs = clock.monotonic();
    } catch (err) {
      if (!signal.aborted) log.debug({ err }, 'Failed to list node images');
    }
    return known;
  };
}

export function createStatusDecider(
  deps: StatusDeciderDeps,
  { rules, mostImages }: StatusDeciderOptions,
): StatusDecider {
  const { clock, readMachine, runtime } = deps;
  const listImages = createImageList(deps, mostImages);

  async function inputs(reported: readonly string[], signal: AbortSignal): Promise<StatusInputs> {
    const [facts, images] = await Promise.all([readMachine(), listImages(signal)]);
    const volumesInUse = deps.volumesInUse?.(reported);
    const extended = deps.extended?.();
    return {
      facts,
      runtimeVersion: runtime.version(),
      troubles: [...runtime.troubles(), ...(deps.troubles?.() ?? [])],
      pressure: deps.pressure?.() ?? NO_PRESSURE,
      ...(images === undefined ? {} : { images }),
      ...(volumesInUse === undefined ? {} : { volumesInUse }),
      ...(extended === undefined ? {} : { extended }),
    };
  }

  return async (node, signal) => {
    const reported = node.status?.volumesInUse ?? [];
    return decideStatus(node, await inputs(reported, signal), rules, clock.now());
  };
}
