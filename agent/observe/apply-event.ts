/** What an event of the runtime changes in the view at once, and what has to be asked for afterwards. */
import type { ContainerRuntimeEvent } from '#cri/client/runtime-event.ts';
import type { RuntimeView } from './runtime-view.ts';

export interface ApplyEventDeps {
  readonly view: RuntimeView;
  readonly now: () => number;
  /** Runs the task after that time (ms), unless observing has ended by then. */
  readonly later: (task: () => void | Promise<void>, delayMs: number) => void;
  /** Resolves with whether the runtime itself says that the container is over. Never rejects. */
  readonly refreshContainer: (id: string) => Promise<boolean>;
  /** Completes the end of a container without the runtime. Never rejects. */
  readonly settleContainer: (id: string) => Promise<void>;
  readonly relist: () => void;
}

/** After an exit event the runtime's status takes about this long to follow; the end is published only then. */
const STATUS_LAG_MS = 75;
/** On a busy machine it takes longer; the time between two looks is doubled up to this. */
const LONGEST_STATUS_LAG_MS = 10_000;
/** This agent's own calls have noted by then what they made: what is still unknown was made by a call whose
 *  answer was lost, for instance because the agent that asked died. */
const OWN_CALL_MS = 3_000;

export function applyEvent(deps: ApplyEventDeps, event: ContainerRuntimeEvent): void {
  const { view, later, refreshContainer } = deps;
  const id = event.containerId;
  switch (event.kind) {
    case 'stopped':
      return applyStop(deps, event);
    case 'oom':
      return view.tellOom(id);
    case 'deleted':
      view.forgetContainer(id);
      view.forgetSandbox(id);
      return;
    case 'created':
    case 'started':
      later(() => {
        if (view.container(id)?.state === 'created') void refreshContainer(id);
        else if (view.container(id) === undefined && view.sandbox(id) === undefined) deps.relist();
      }, OWN_CALL_MS);
      return;
    default:
      event.kind satisfies never;
  }
}

function applyStop(
  deps: ApplyEventDeps,
  event: Extract<ContainerRuntimeEvent, { containerId: string }>,
): void {
  const { view, now } = deps;
  const id = event.containerId;
  const container = view.container(id);
  const sandbox = view.sandbox(id);
  if (sandbox !== undefined) {
    view.noteSandbox({ ...sandbox, ready: false });
    // What ran in it has ended as well, whether or not its own event arrives.
    for (const inside of view.pod(sandbox.podUID).containers) {
      if (inside.sandboxId === id && inside.state === 'running') learnEnd(deps, inside.id, STATUS_LAG_MS);
    }
  }
  if (container === undefined || container.state === 'exited') return;
  if (event.exitCode !== undefined) {
    const finishedAtMs = event.exitedAtMs ?? now();
    // A short life may be over before its start was noted.
    const startedAtMs = container.startedAtMs || container.createdAtMs;
    const { exitCode } = event;
    const end = { state: 'exited', exitCode, startedAtMs, finishedAtMs, isProvisional: true } as const;
    view.noteContainer({ ...container, ...end });
  }
  learnEnd(deps, id, event.exitCode === undefined ? 0 : STATUS_LAG_MS);
}

/** Looks until the runtime's status has followed the event: it has the reason, and last words are read with it. A runtime
 *  that never follows has nothing to add to what is known. */
function learnEnd(deps: ApplyEventDeps, id: string, delayMs: number): void {
  deps.later(async () => {
    const isOver = await deps.refreshContainer(id);
    const nextMs = Math.max(delayMs * 2, STATUS_LAG_MS);
    if (isOver) return;
    if (nextMs <= LONGEST_STATUS_LAG_MS) learnEnd(deps, id, nextMs);
    else await deps.settleContainer(id);
  }, delayMs);
}
