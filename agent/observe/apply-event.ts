/** What an event of the runtime changes in the view at once, and what has to be asked for afterwards. */
import type { ContainerRuntimeEvent } from '#cri/client/runtime-event.ts';
import { OOM_KILLED, type RuntimeView } from './runtime-view.ts';

export interface ApplyEventDeps {
  readonly view: RuntimeView;
  readonly now: () => number;
  /** Runs the task after that time (ms), unless observing has ended by then. */
  readonly later: (task: () => void, delayMs: number) => void;
  readonly refreshContainer: (id: string) => void;
  readonly relist: () => void;
}

/** After an exit event the runtime's status takes about this long to follow. */
const STATUS_LAG_MS = 150;
/** This agent's own calls have noted by then what they made: what is still unknown was made by a call whose
 *  answer was lost, for instance because the agent that asked died. */
const OWN_CALL_MS = 3_000;

export function applyEvent(deps: ApplyEventDeps, event: ContainerRuntimeEvent): void {
  const { view, later, refreshContainer } = deps;
  const id = event.containerId;
  const container = view.container(id);
  switch (event.kind) {
    case 'stopped':
      return applyStop(deps, event);
    case 'oom':
      if (container !== undefined) view.noteContainer({ ...container, reason: OOM_KILLED });
      return;
    case 'deleted':
      view.forgetContainer(id);
      view.forgetSandbox(id);
      return;
    case 'created':
    case 'started':
      later(() => {
        if (view.container(id)?.state === 'created') refreshContainer(id);
        else if (view.container(id) === undefined && view.sandbox(id) === undefined) deps.relist();
      }, OWN_CALL_MS);
      return;
    default:
      event.kind satisfies never;
  }
}

function applyStop(
  { view, now, later, refreshContainer }: ApplyEventDeps,
  event: Extract<ContainerRuntimeEvent, { containerId: string }>,
): void {
  const id = event.containerId;
  const container = view.container(id);
  const sandbox = view.sandbox(id);
  if (sandbox !== undefined) view.noteSandbox({ ...sandbox, ready: false });
  if (container === undefined || container.state === 'exited') return;
  if (event.exitCode !== undefined) {
    const finishedAtMs = event.exitedAtMs ?? now();
    // A short life may be over before its start was noted.
    const startedAtMs = container.startedAtMs || container.createdAtMs;
    const { exitCode } = event;
    view.noteContainer({ ...container, state: 'exited', exitCode, startedAtMs, finishedAtMs });
  }
  later(() => refreshContainer(id), event.exitCode === undefined ? 0 : STATUS_LAG_MS);
}
