/** The pod's status, from what is wanted, seen and remembered. Pure.
 *  Spec: document 3, section 1; phases and conditions as upstream 1.24. */
import { formatTime } from '#api/meta/time.ts';
import type { Container, ContainerStatus, Pod, PodCondition, PodStatus } from '#api/schema/gen/core-v1.ts';
import type { PodObservation } from '../observe/types.ts';
import { containerStatus } from './container-status.ts';
import { appContainers, initContainers, isSidecar, latest } from './containers.ts';
import type { ContainerSpec, PodProgress, WaitingReason } from './plan.ts';

export interface StatusInput {
  readonly pod: Pod;
  readonly observed: PodObservation;
  readonly progress: PodProgress;
  /** From the last decision. */
  readonly waiting: ReadonlyMap<string, WaitingReason>;
  readonly previous: PodStatus | undefined;
  readonly hostIPs: readonly string[];
  readonly qosClass: 'Guaranteed' | 'Burstable' | 'BestEffort';
  readonly runtimeName: string;
  readonly nowMs: number;
}

export function podStatus(input: StatusInput): PodStatus {
  const { pod, progress } = input;
  const initStatuses = initContainers(pod).map((spec) => statusOf(input, spec, true));
  const appStatuses = appContainers(pod).map((spec) => statusOf(input, spec, false));
  const ephemeralStatuses = (pod.spec?.ephemeralContainers ?? []).map((spec) => statusOf(input, spec, false));
  const phase = podPhase(input, initStatuses, appStatuses);
  const ips = podIPs(input);
  return {
    phase,
    conditions: conditions(input, initStatuses, appStatuses),
    ...reasonOf(progress),
    ...(input.hostIPs[0] === undefined ? {} : { hostIP: input.hostIPs[0] }),
    ...(ips[0] === undefined ? {} : { podIP: ips[0], podIPs: ips.map((ip) => ({ ip })) }),
    ...(progress.startedAtMs === 0 ? {} : { startTime: formatTime(progress.startedAtMs) }),
    ...toldStatuses(progress, initStatuses, appStatuses, ephemeralStatuses),
    qosClass: input.qosClass,
  };
}

/** A pod that ended before any of its containers came to be tells of none: they don't wait for anything, and clients show
 *  the pod's own reason then. As upstream of pods that it refuses. */
function toldStatuses(
  progress: PodProgress,
  init: readonly ContainerStatus[],
  app: readonly ContainerStatus[],
  ephemeral: readonly ContainerStatus[],
): Pick<PodStatus, 'initContainerStatuses' | 'containerStatuses' | 'ephemeralContainerStatuses'> {
  const hasBeen = ({ containerID }: ContainerStatus): boolean => containerID !== undefined;
  if (progress.terminal !== undefined && ![...init, ...app, ...ephemeral].some(hasBeen)) return {};
  return {
    ...(init.length === 0 ? {} : { initContainerStatuses: init }),
    containerStatuses: app,
    ...(ephemeral.length === 0 ? {} : { ephemeralContainerStatuses: ephemeral }),
  };
}

function statusOf(input: StatusInput, spec: ContainerSpec, initContainer: boolean): ContainerStatus {
  const instances = input.observed.containers.filter(({ name }) => name === spec.name);
  const current = instances.find(({ state }) => state !== 'created');
  const failure = input.progress.containers.get(spec.name)?.failure;
  const verdict = current === undefined ? undefined : input.progress.probes.get(current.id);
  const ended = input.progress.terminal !== undefined;
  const kept = ended && current === undefined ? keptStatus(input.previous, spec.name) : undefined;
  if (kept !== undefined) return kept;
  const waiting = ended ? undefined : (input.waiting.get(spec.name) ?? failure);
  const { runtimeName } = input;
  const unstarted = initContainers(input.pod).length > 0 ? 'PodInitializing' : 'ContainerCreating';
  return containerStatus({ spec, instances, waiting, unstarted, verdict, runtimeName, initContainer });
}

/** How a container ended, of a pod that is over: the container itself may have been collected since. */
function keptStatus(previous: PodStatus | undefined, wanted: string): ContainerStatus | undefined {
  const {
    initContainerStatuses = [],
    containerStatuses = [],
    ephemeralContainerStatuses = [],
  } = previous ?? {};
  return [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses].find(
    ({ name, state }) => name === wanted && state?.terminated !== undefined,
  );
}

function reasonOf(progress: PodProgress): Pick<PodStatus, 'reason' | 'message'> {
  const { reason = '', message = '' } = progress.terminal ?? {};
  return { ...(reason === '' ? {} : { reason }), ...(message === '' ? {} : { message }) };
}

function podIPs({ pod, observed, hostIPs }: StatusInput): readonly string[] {
  if (pod.spec?.hostNetwork === true) return hostIPs;
  return observed.sandboxes[0]?.ips ?? [];
}

function podPhase(
  { pod, observed, progress }: StatusInput,
  initStatuses: readonly ContainerStatus[],
  appStatuses: readonly ContainerStatus[],
): NonNullable<PodStatus['phase']> {
  if (progress.terminal !== undefined) return progress.terminal.phase;
  const appSeen = appContainers(pod).some(({ name }) => latest(observed.containers, name) !== undefined);
  if (!appSeen && !isInitialized(pod, initStatuses)) return 'Pending';
  return appStatuses.every(({ containerID }) => containerID !== undefined) ? 'Running' : 'Pending';
}

function isInitialized(pod: Pod, statuses: readonly ContainerStatus[]): boolean {
  return initContainers(pod).every((spec, index) => initDone(spec, statuses[index]));
}

const initDone = (spec: Container, status: ContainerStatus | undefined): boolean =>
  isSidecar(spec) ? status?.started === true : status?.ready === true;

function conditions(
  input: StatusInput,
  initStatuses: readonly ContainerStatus[],
  appStatuses: readonly ContainerStatus[],
): readonly PodCondition[] {
  const { pod, observed } = input;
  const appSeen = appContainers(pod).some(({ name }) => latest(observed.containers, name) !== undefined);
  const initialized = appSeen || isInitialized(pod, initStatuses);
  const sidecars = initStatuses.filter((_, index) => initContainers(pod)[index]?.restartPolicy === 'Always');
  const unready = [...sidecars, ...appStatuses].filter(({ ready }) => !ready).map(({ name }) => name);
  const readiness = readyFacts(input, unready);
  const incomplete = initStatuses.filter(({ ready }) => !ready).map(({ name }) => name);
  return [
    condition(input, 'Initialized', initialized ? {} : initFacts(incomplete)),
    condition(input, 'Ready', readiness),
    condition(input, 'ContainersReady', readiness),
    condition(input, 'PodScheduled', {}),
  ];
}

interface ConditionFacts {
  readonly reason?: string;
  readonly message?: string;
}

const initFacts = (names: readonly string[]): ConditionFacts => ({
  reason: 'ContainersNotInitialized',
  message: `containers with incomplete status: [${names.join(' ')}]`,
});

function readyFacts({ progress }: StatusInput, unready: readonly string[]): ConditionFacts {
  if (progress.terminal?.phase === 'Succeeded') return { reason: 'PodCompleted' };
  if (progress.terminal?.phase === 'Failed') return { reason: 'PodFailed' };
  if (unready.length === 0) return {};
  return { reason: 'ContainersNotReady', message: `containers with unready status: [${unready.join(' ')}]` };
}

/** A condition is true when it has no reason to be false; its transition time moves only when it flips. */
function condition(input: StatusInput, type: PodCondition['type'], facts: ConditionFacts): PodCondition {
  const status = facts.reason === undefined ? 'True' : 'False';
  const before = input.previous?.conditions?.find((candidate) => candidate.type === type);
  const lastTransitionTime =
    before?.status === status && before.lastTransitionTime !== undefined
      ? before.lastTransitionTime
      : formatTime(input.nowMs);
  return { type, status, lastTransitionTime, ...facts };
}
