/** Gathers what a node's status is made of, and decides it. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { ContainerImage, Node } from '#api/schema/gen/core-v1.ts';
import type { ExtendedResources } from '../resources/contract.ts';
import type { Pressure } from './conditions.ts';
import type { MachineReader } from './machine/read-machine.ts';
import { decideImages, type NodeImage } from './node-images.ts';
import { decideStatus, type StatusDecision, type StatusInputs, type StatusRules } from './node-status.ts';
import type { RuntimeState } from './runtime-state.ts';

/** What the node's status is made of besides the machine and the runtime. */
export interface StatusSources {
  /** Default: none are told. */
  readonly readImages?: (signal: AbortSignal) => Promise<readonly NodeImage[]>;
  /** Default: none. */
  readonly pressure?: () => Pressure;
  /** What else keeps the node from being ready, such as a shutdown. Default: nothing. */
  readonly troubles?: () => readonly string[];
  /** Names of volumes in use, undefined while they are not known; given what was told last. Default: none are told. */
  readonly volumesInUse?: (told: readonly string[]) => readonly string[] | undefined;
  /** Devices of plugins. Default: none. */
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

/** Images change seldom, and a list of them is long. */
const IMAGES_KEPT_MS = 30_000;
const NO_PRESSURE: Pressure = { memory: false, disk: false, pid: false };

/** Images as last listed, listed anew when they are old. */
function createImageList(
  { clock, log, readImages }: Pick<StatusDeciderDeps, 'clock' | 'log' | 'readImages'>,
  most: number,
): (signal: AbortSignal) => Promise<readonly ContainerImage[] | undefined> {
  let known: readonly ContainerImage[] | undefined;
  let readAtMs = Number.NEGATIVE_INFINITY;
  return async (signal) => {
    if (readImages === undefined || clock.monotonic() - readAtMs < IMAGES_KEPT_MS) return known;
    try {
      known = decideImages(await readImages(signal), most);
      readAtMs = clock.monotonic();
    } catch (err) {
      if (!signal.aborted) log.debug({ err }, 'Images of the node could not be listed');
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

  async function inputs(told: readonly string[], signal: AbortSignal): Promise<StatusInputs> {
    const [facts, images] = await Promise.all([readMachine(), listImages(signal)]);
    const volumesInUse = deps.volumesInUse?.(told);
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
    const told = node.status?.volumesInUse ?? [];
    return decideStatus(node, await inputs(told, signal), rules, clock.now());
  };
}
