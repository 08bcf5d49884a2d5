/** Applies a runtime event to the view, and determines the queries that must follow. */
import type { ContainerRuntimeEvent } from '#cri/client/runtime-event.ts';
import type { RuntimeView } from './runtime-view.ts';

export interface ApplyEventDeps {
  readonly view: RuntimeView;
  readonly now: () => number;
  /** Runs the task after that time (ms), unless observation has stopped by then. */
  readonly later: (task: () => void | Promise<void>, delayMs: number) => void;
  /** Resolves with whether the runtime itself reports that the container has exited. Never rejects. */
  readonly refreshContainer: (id: string) => Promise<boolean>;
  /** Completes the exit state of a container without the runtime. Never rejects. */
  readonly settleContainer: (id: string) => Promise<void>;
  readonly relist: () => void;
}

/** Delay after which the runtime's status usually follows an exit event; the exit is published only then. */
const STATUS_LAG_MS = 75;
/** On a busy machine it takes longer; the delay between two queries doubles up to this. */
const LONGEST_STATUS_LAG_MS = 10_000;
/** By then this agent's own calls have recorded what they created: what is still unknown was created by a
 *  call whose response was lost, for instance because the agent died. */
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
    // Its containers have exited as well, whether or not their own events arrive.
    for (const inside of view.pod(sandbox.podUID).containers) {
      if (inside.sandboxId === id && inside.state === 'running') learnEnd(deps, inside.id, STATUS_LAG_MS);
    }
  }
  if (container === undefined || container.state === 'exited') return;
  if (event.exitCode !== undefined) {
    const finishedAtMs = event.exitedAtMs ?? now();
    // A short-lived container may exit before its start was recorded.
    const startedAtMs = container.startedAtMs || container.createdAtMs;
    const { exitCode } = event;
    const end = { state: 'exited', exitCode, startedAtMs, finishedAtMs, isProvisional: true } as const;
    view.noteContainer({ ...container, ...end });
  }
  learnEnd(deps, id, event.exitCode === undefined ? 0 : STATUS_LAG_MS);
}

/** Queries until the runtime's status has followed the event: it contains the reason, and the termination
 *  message is read with it. A runtime that never follows has nothing to add. */
function learnEnd(deps: ApplyEventDeps, id: string, delayMs: number): void {
  deps.later(async () => {
    const isOver = await deps.refreshContainer(id);
    const nextMs = Math.max(delayMs * 2, STATUS_LAG_MS);
    if (isOver) return;
    if (nextMs <= LONGEST_STATUS_LAG_MS) learnEnd(deps, id, nextMs);
    else await deps.settleContainer(id);
  }, delayMs);
}
