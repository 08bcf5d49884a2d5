/** Status of a pod, from desired state, observed state and progress. Pure.
 *  Source: pod lifecycle, document 3 §1; phases and conditions as upstream 1.24. */

import type { Container, ContainerStatus, Pod, PodCondition, PodStatus } from '#api/gen/core-v1.ts';
import { formatTime } from '#api/meta/time.ts';
import type { PodObservation } from '../../observe/types.ts';
import {
  appContainers,
  hasComeToRest,
  initContainers,
  isSidecar,
  latest,
  succeeded,
  unstartedReason,
} from '../decide/containers.ts';
import type { ContainerSpec, PodProgress, TerminalPhase, WaitingReason } from '../decide/decision-types.ts';
import { containerStatus, hasBeen, withHistory } from './container-status.ts';

export interface StatusInput {
  readonly pod: Pod;
  readonly observed: PodObservation;
  readonly progress: PodProgress;
  /** The pod is being deleted. */
  readonly isRemoved: boolean;
  /** From the last decision. */
  readonly waiting: ReadonlyMap<string, WaitingReason>;
  readonly previous: PodStatus | undefined;
  readonly hostIPs: readonly string[];
  readonly qosClass: 'Guaranteed' | 'Burstable' | 'BestEffort';
  readonly runtimeName: string;
  readonly nowMs: number;
}

/** Common input of all parts of one status. */
interface Facts extends StatusInput {
  /** Terminal phase; undefined while a container may run or an exit state is unknown. */
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
    ...reportedStatuses(facts, initStatuses, appStatuses, ephemeralStatuses),
    qosClass: input.qosClass,
  };
}

/** Returns the terminal phase once nothing of the pod can run any more. A pod that is deleted before it
 *  terminated by itself has failed unless all its containers succeeded. A published terminal phase stays.
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

/** Omits the container statuses of a pod that terminated before any container ran: nothing waits, and clients
 *  then show the reason of the pod. As upstream does for rejected pods. */
function reportedStatuses(
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

/** A condition is true unless it has a reason to be false; its transition time changes only with its status. */
function condition(input: StatusInput, type: PodCondition['type'], facts: ConditionFacts): PodCondition {
  const status = facts.reason === undefined ? 'True' : 'False';
  const before = input.previous?.conditions?.find((candidate) => candidate.type === type);
  const lastTransitionTime =
    before?.status === status && before.lastTransitionTime !== undefined
      ? before.lastTransitionTime
      : formatTime(input.nowMs);
  return { type, status, lastTransitionTime, ...facts };
}
