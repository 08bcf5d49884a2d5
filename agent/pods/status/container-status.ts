/** Status of one container, from its observed instances and the state of the worker; and the probe results in it
 *  that are persisted across agent restarts. Pure. */
import type {
  Container,
  ContainerState,
  ContainerStateTerminated,
  ContainerStatus,
  Pod,
  PodStatus,
} from '#api/gen/core-v1.ts';
import { formatTime } from '#api/meta/time.ts';
import type { ObservedContainer } from '../../observe/types.ts';
import { isProbed } from '../../probes/container-probes.ts';
import type { ProbeFindings } from '../../probes/memory.ts';
import type { ProbeVerdict } from '../../probes/verdict.ts';
import { appContainers, initContainers } from '../decide/containers.ts';
import type { ContainerSpec, WaitingReason } from '../decide/decision-types.ts';

/** Termination state of a container that disappeared before its exit was observed.
 *  @see upstream 1.24 */
const UNKNOWN_END = {
  exitCode: 137,
  reason: 'ContainerStatusUnknown',
  message: 'The container could not be located; it was running when it was last seen',
} as const;

export interface ContainerStatusInput {
  readonly spec: ContainerSpec;
  /** All instances of this name, newest first; instances that were never started are ignored. */
  readonly instances: readonly ObservedContainer[];
  /** Reason why the container should run but does not. */
  readonly waiting: WaitingReason | undefined;
  /** Waiting reason when nothing else is known: the container has not been started yet, or never was. */
  readonly unstarted: string;
  readonly verdict: ProbeVerdict | undefined;
  /** Scheme of container IDs, such as `containerd`. */
  readonly runtimeName: string;
  /** Init containers are ready once they have succeeded; others without a readiness probe while they run. */
  readonly initContainer: boolean;
}

export function containerStatus(input: ContainerStatusInput): ContainerStatus {
  const { spec, runtimeName } = input;
  const [current, before] = input.instances.filter(({ state }) => state !== 'created');
  const state = containerState(input, current);
  const lastEnded = current?.state === 'exited' && state.waiting !== undefined ? current : before;
  const lastState = lastEnded?.state === 'exited' ? { terminated: terminated(lastEnded, runtimeName) } : {};
  return {
    name: spec.name,
    state,
    lastState,
    ready: isReady(input, current),
    restartCount: current?.attempt ?? 0,
    image: current?.image ?? spec.image ?? '',
    imageID: current?.imageID ?? '',
    ...(current === undefined ? {} : { containerID: `${runtimeName}://${current.id}` }),
    started: current?.state === 'running' && input.verdict?.started !== false,
  };
}

function isReady(
  { spec, verdict, initContainer }: ContainerStatusInput,
  current: ObservedContainer | undefined,
): boolean {
  if (initContainer && !('restartPolicy' in spec))
    return current?.state === 'exited' && current.exitCode === 0;
  return current?.state === 'running' && (verdict?.ready ?? spec.readinessProbe === undefined);
}

/** An exited container that awaits its restart is reported as waiting, with its exit as the last state. */
function containerState(
  { waiting, unstarted, runtimeName }: ContainerStatusInput,
  current: ObservedContainer | undefined,
): ContainerState {
  if (current?.state === 'running') return { running: { startedAt: formatTime(current.startedAtMs) } };
  if (waiting !== undefined) {
    const { reason, message } = waiting;
    return { waiting: message === '' ? { reason } : { reason, message } };
  }
  if (current?.state === 'exited') return { terminated: terminated(current, runtimeName) };
  return { waiting: { reason: unstarted } };
}

function terminated(container: ObservedContainer, runtimeName: string): ContainerStateTerminated {
  return {
    exitCode: container.exitCode,
    reason: container.reason || (container.exitCode === 0 ? 'Completed' : 'Error'),
    ...(container.message === '' ? {} : { message: container.message }),
    startedAt: formatTime(container.startedAtMs),
    finishedAt: formatTime(container.finishedAtMs),
    containerID: `${runtimeName}://${container.id}`,
  };
}

/** Reports whether an instance of the container has run. */
export const hasBeen = ({ containerID, restartCount, state, lastState }: ContainerStatus): boolean =>
  containerID !== undefined ||
  (restartCount ?? 0) > 0 ||
  (state?.terminated ?? lastState?.terminated) !== undefined;

/** Merges the status with the published one, which may know of instances that the runtime has lost: an
 *  instance may disappear before its exit was observed, and dead ones are removed.
 *  @param before the last published status
 *  @param next the status by the observed state; one without a container ID where no instance exists
 *  @param isOver the pod has terminated */
export function withHistory(
  before: ContainerStatus,
  next: ContainerStatus,
  isOver: boolean,
): ContainerStatus {
  const isOlder = (next.restartCount ?? 0) < (before.restartCount ?? 0);
  if (next.containerID === undefined || isOlder) return lostStatus(before, next, isOver);
  const isRestarted = (next.restartCount ?? 0) > 0 && next.state?.running !== undefined;
  if (!isRestarted || next.lastState?.terminated !== undefined) return next;
  const end = next.containerID === before.containerID ? before.lastState?.terminated : lastEnd(before);
  return end === undefined ? next : { ...next, lastState: { terminated: end } };
}

/** Returns the final status of a container of a terminated pod of which only the published status is known. A
 *  container that never ran stays waiting. */
export function withUnseenEnd(before: ContainerStatus): ContainerStatus {
  const { containerID: _, ...nothing } = before;
  return hasBeen(before) ? lostStatus(before, { ...nothing, lastState: {} }, true) : before;
}

/** Returns how the newest lost instance terminated. */
function lastEnd({ state, lastState, containerID }: ContainerStatus): ContainerStateTerminated | undefined {
  if (state?.terminated !== undefined) return state.terminated;
  if (state?.running === undefined) return lastState?.terminated;
  const { startedAt } = state.running;
  return {
    ...UNKNOWN_END,
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(containerID === undefined ? {} : { containerID }),
  };
}

function lostStatus(before: ContainerStatus, next: ContainerStatus, isOver: boolean): ContainerStatus {
  const { state, restartCount, containerID, image, imageID } = before;
  const isEnd = isOver || next.state?.terminated !== undefined;
  if (isEnd && state?.terminated !== undefined) return before;
  const isOlder = (next.restartCount ?? 0) < (before.restartCount ?? 0);
  const seen = isOlder ? undefined : (next.state?.terminated ?? next.lastState?.terminated);
  const end = seen ?? lastEnd(before);
  const { containerID: _, ...rest } = next;
  const unready = { ...rest, ready: false, started: false, restartCount };
  if (!isEnd || end === undefined)
    return { ...unready, lastState: end === undefined ? {} : { terminated: end } };
  const lostID = containerID ?? end.containerID;
  const id = lostID === undefined ? {} : { containerID: lostID };
  return { ...unready, image, imageID, ...id, lastState: {}, state: { terminated: end } };
}

/** Returns the results of its running probed containers, by container ID. */
export function probeFindings(pod: Pod, status: PodStatus): ProbeFindings {
  const specs: readonly Container[] = [...initContainers(pod), ...appContainers(pod)];
  const probed = new Set(specs.filter(isProbed).map(({ name }) => name));
  const statuses = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  return Object.fromEntries(
    statuses
      .filter(({ name, state }) => probed.has(name) && state?.running !== undefined)
      .map(({ containerID = '', started = false, ready }) => [
        containerID.slice(containerID.indexOf('://') + '://'.length),
        { started, ready },
      ]),
  );
}
