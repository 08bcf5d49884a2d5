/** The status of one container, from its instances and what the worker knows. Pure. */
import { formatTime } from '#api/meta/time.ts';
import type { ContainerState, ContainerStateTerminated, ContainerStatus } from '#api/schema/gen/core-v1.ts';
import type { ObservedContainer } from '../observe/types.ts';
import type { ContainerSpec, ProbeVerdict, WaitingReason } from './plan.ts';

/** How a container ended that disappeared before its end was seen.
 *  @see upstream 1.24 */
const UNKNOWN_END = {
  exitCode: 137,
  reason: 'ContainerStatusUnknown',
  message: 'The container could not be located; it was running when it was last seen',
} as const;

export interface ContainerStatusInput {
  readonly spec: ContainerSpec;
  /** All instances of this name, newest first; one that was not started does not count. */
  readonly instances: readonly ObservedContainer[];
  /** Why it does not run, when it should. */
  readonly waiting: WaitingReason | undefined;
  /** Why it does not run when nothing else is known: its turn has not come yet, or never came. */
  readonly unstarted: string;
  readonly verdict: ProbeVerdict | undefined;
  /** `containerd`, the scheme of container IDs. */
  readonly runtimeName: string;
  /** Whether a container without a readiness probe counts as ready while it runs. */
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

/** A container that ended and waits to be started again is shown as waiting, its end as the last state. */
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

/** Whether an instance of the container has run. */
export const hasBeen = ({ containerID, restartCount, state, lastState }: ContainerStatus): boolean =>
  containerID !== undefined ||
  (restartCount ?? 0) > 0 ||
  (state?.terminated ?? lastState?.terminated) !== undefined;

/** The status of a container, with what was published of it before and the runtime has lost since: an instance may
 *  disappear before its end was seen, and dead ones are removed.
 *  @param before the status that was published last
 *  @param next the status by what the runtime has; one without a container ID where it has nothing
 *  @param isOver the pod has ended */
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

/** The status of a container of a pod that has ended, where nothing but what was published of it is known. One that never
 *  came to be waits on. */
export function withUnseenEnd(before: ContainerStatus): ContainerStatus {
  const { containerID: _, ...nothing } = before;
  return hasBeen(before) ? lostStatus(before, { ...nothing, lastState: {} }, true) : before;
}

/** How the newest instance ended that is not there any more. */
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
