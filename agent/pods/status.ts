/** The pod's status, from what is wanted, seen and remembered. Pure.
 *  Spec: document 3, section 1; phases and conditions as upstream 1.24. */
import { formatTime } from '#api/meta/time.ts';
import type { Container, ContainerStatus, Pod, PodCondition, PodStatus } from '#api/schema/gen/core-v1.ts';
import type { PodObservation } from '../observe/types.ts';
import { containerStatus, hasBeen, withHistory } from './container-status.ts';
import {
  appContainers,
  initContainers,
  isSidecar,
  latest,
  succeeded,
  unstartedReason,
} from './containers.ts';
import { hasComeToRest } from './decide-teardown.ts';
import type { ContainerSpec, PodProgress, TerminalPhase, WaitingReason } from './plan.ts';

export interface StatusInput {
  readonly pod: Pod;
  readonly observed: PodObservation;
  readonly progress: PodProgress;
  /** The pod is to be deleted. */
  readonly isRemoved: boolean;
  /** From the last decision. */
  readonly waiting: ReadonlyMap<string, WaitingReason>;
  readonly previous: PodStatus | undefined;
  readonly hostIPs: readonly string[];
  readonly qosClass: 'Guaranteed' | 'Burstable' | 'BestEffort';
  readonly runtimeName: string;
  readonly nowMs: number;
}

/** What all parts of one status go by. */
interface Facts extends StatusInput {
  /** How the pod ended; undefined as long as something of it may run, or how something ended is not known. */
  readonly end: TerminalPhase | undefined;
}

export function podStatus(input: StatusInput): PodStatus {
  const { pod, progress } = input;
  const facts = { ...input, end: endOf(input) };
  const initStatuses = initContainers(pod).map((spec) => statusOf(facts, spec, true));
  const appStatuses = appContainers(pod).map((spec) => statusOf(facts, spec, false));
  const ephemeralStatuses = (pod.spec?.ephemeralContainers ?? []).map((spec) => statusOf(facts, spec, false));
  const ips = podIPs(input);
  return {
    phase: podPhase(facts, initStatuses, appStatuses),
    conditions: conditions(facts, initStatuses, appStatuses),
    ...reasonOf(facts),
    ...(input.hostIPs[0] === undefined ? {} : { hostIP: input.hostIPs[0] }),
    ...(ips[0] === undefined ? {} : { podIP: ips[0], podIPs: ips.map((ip) => ({ ip })) }),
    ...(progress.startedAtMs === 0 ? {} : { startTime: formatTime(progress.startedAtMs) }),
    ...toldStatuses(facts, initStatuses, appStatuses, ephemeralStatuses),
    qosClass: input.qosClass,
  };
}

/** The end of the pod, once nothing of it can run any more. A pod that is deleted before it ended by itself has failed
 *  unless all its containers did their work. Once published, an end stays.
 *  @see upstream: a pod has a terminal phase before its object is removed */
function endOf({ previous, progress, observed, isRemoved, pod }: StatusInput): TerminalPhase | undefined {
  const { phase, reason = '', message = '' } = previous ?? {};
  if (phase === 'Succeeded' || phase === 'Failed') return { phase, reason, message };
  if (!hasComeToRest(progress, observed)) return undefined;
  if (progress.terminal !== undefined || !isRemoved) return progress.terminal;
  const isDone = appContainers(pod).every(({ name }) => {
    const container = latest(observed.containers, name);
    return container !== undefined && succeeded(container);
  });
  return { phase: isDone ? 'Succeeded' : 'Failed', reason: '', message: '' };
}

/** A pod that ended before any of its containers came to be tells of none: they don't wait for anything, and clients show
 *  the pod's own reason then. As upstream of pods that it refuses. */
function toldStatuses(
  { end }: Facts,
  init: readonly ContainerStatus[],
  app: readonly ContainerStatus[],
  ephemeral: readonly ContainerStatus[],
): Pick<PodStatus, 'initContainerStatuses' | 'containerStatuses' | 'ephemeralContainerStatuses'> {
  if (end !== undefined && ![...init, ...app, ...ephemeral].some(hasBeen)) return {};
  return {
    ...(init.length === 0 ? {} : { initContainerStatuses: init }),
    containerStatuses: app,
    ...(ephemeral.length === 0 ? {} : { ephemeralContainerStatuses: ephemeral }),
  };
}

function statusOf(facts: Facts, spec: ContainerSpec, initContainer: boolean): ContainerStatus {
  const { observed, progress, previous, pod, runtimeName } = facts;
  const instances = observed.containers.filter(({ name }) => name === spec.name);
  const current = instances.find(({ state }) => state !== 'created');
  const failure = progress.containers.get(spec.name)?.failure;
  const verdict = current === undefined ? undefined : progress.probes.get(current.id);
  const isOver = facts.end !== undefined;
  const isEnding = isOver || progress.terminal !== undefined;
  const waiting = isEnding ? undefined : (facts.waiting.get(spec.name) ?? failure);
  const unstarted = unstartedReason(pod);
  const next = containerStatus({ spec, instances, waiting, unstarted, verdict, runtimeName, initContainer });
  const before = publishedStatus(previous, spec.name);
  return before === undefined ? next : withHistory(before, next, isOver);
}

function publishedStatus(previous: PodStatus | undefined, wanted: string): ContainerStatus | undefined {
  const {
    initContainerStatuses = [],
    containerStatuses = [],
    ephemeralContainerStatuses = [],
  } = previous ?? {};
  return [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses].find(
    ({ name }) => name === wanted,
  );
}

function reasonOf({ end }: Facts): Pick<PodStatus, 'reason' | 'message'> {
  const { reason = '', message = '' } = end ?? {};
  return { ...(reason === '' ? {} : { reason }), ...(message === '' ? {} : { message }) };
}

function podIPs({ pod, observed, hostIPs }: StatusInput): readonly string[] {
  if (pod.spec?.hostNetwork === true) return hostIPs;
  return observed.sandboxes[0]?.ips ?? [];
}

function podPhase(
  { pod, end }: Facts,
  initStatuses: readonly ContainerStatus[],
  appStatuses: readonly ContainerStatus[],
): NonNullable<PodStatus['phase']> {
  if (end !== undefined) return end.phase;
  if (!appStatuses.some(hasBeen) && !isInitialized(pod, initStatuses)) return 'Pending';
  return appStatuses.every(hasBeen) ? 'Running' : 'Pending';
}

function isInitialized(pod: Pod, statuses: readonly ContainerStatus[]): boolean {
  return initContainers(pod).every((spec, index) => initDone(spec, statuses[index]));
}

const initDone = (spec: Container, status: ContainerStatus | undefined): boolean =>
  isSidecar(spec) ? status?.started === true : status?.ready === true;

function conditions(
  input: Facts,
  initStatuses: readonly ContainerStatus[],
  appStatuses: readonly ContainerStatus[],
): readonly PodCondition[] {
  const { pod } = input;
  const initialized = appStatuses.some(hasBeen) || isInitialized(pod, initStatuses);
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

function readyFacts({ progress, end }: Facts, unready: readonly string[]): ConditionFacts {
  const phase = (end ?? progress.terminal)?.phase;
  if (phase === 'Succeeded') return { reason: 'PodCompleted' };
  if (phase === 'Failed') return { reason: 'PodFailed' };
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
