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
export const hasBeen = ({ containerID, restartCount, lastState }: ContainerStatus): boolean =>
  containerID !== undefined || (restartCount ?? 0) > 0 || lastState?.terminated !== undefined;

/** The status of a container of which no instance is left, from the one before that.
 *  @param next what it would be if there had never been one
 *  @param isOver its pod has ended */
export function lostStatus(before: ContainerStatus, next: ContainerStatus, isOver: boolean): ContainerStatus {
  const { state, restartCount, containerID } = before;
  if (isOver && state?.terminated !== undefined) return before;
  const wasRunning = state?.running !== undefined;
  const { startedAt } = state?.running ?? {};
  const unknown = {
    ...UNKNOWN_END,
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(containerID === undefined ? {} : { containerID }),
  };
  const end = state?.terminated ?? (wasRunning ? unknown : before.lastState?.terminated);
  if (!isOver) return { ...next, restartCount, lastState: end === undefined ? {} : { terminated: end } };
  if (end === undefined) return { ...next, restartCount };
  const { image, imageID } = before;
  const id = containerID === undefined ? {} : { containerID };
  return { ...next, restartCount, image, imageID, ...id, lastState: {}, state: { terminated: end } };
}
