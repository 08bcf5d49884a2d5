/** The status of one container, from its instances and what the worker knows. Pure. */
import { formatTime } from '#api/meta/time.ts';
import type { ContainerState, ContainerStateTerminated, ContainerStatus } from '#api/schema/gen/core-v1.ts';
import type { ObservedContainer } from '../observe/types.ts';
import type { ContainerSpec, ProbeVerdict, WaitingReason } from './plan.ts';

export interface ContainerStatusInput {
  readonly spec: ContainerSpec;
  /** All instances of this name, newest first. */
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
