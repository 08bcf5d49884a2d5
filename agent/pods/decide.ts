/** What to do next for one pod. Pure: never reads the clock, the runtime or a file.
 *
 *  One round looks at what is wanted, what was observed and what is under way, and returns every action that
 *  can start now. The worker starts them and asks again when anything changed, so a crash between two rounds
 *  needs no repair code: the next look decides from what is there.
 *
 *      run ──(all containers ended, deadline, failed init)──▶ finish ──▶ teardown ──▶ rest
 *       └──────────────(no longer wanted)─────────────────────────────▶ teardown ──▶ removePod
 *
 *  Spec: document 3, section 1; upstream 1.24 pod lifecycle. */
import { decideRun } from './decide-run.ts';
import { decideTeardown } from './decide-teardown.ts';
import { isHeld } from './held.ts';
import type { DecideInput, Decision, PodAction } from './plan.ts';
import { operationKey } from './plan.ts';

/** The actions that can start now, why containers wait, and when to look again. */
export function decidePod(input: DecideInput): Decision {
  const { progress, nowMs } = input;
  const decision = decideAll(input);
  const free = decision.actions.filter((action) => !progress.busy.has(operationKey(action)));
  const retryAt = (action: PodAction): number => progress.retryAtMs.get(operationKey(action)) ?? 0;
  const held = free.map(retryAt).filter((atMs) => isHeld(atMs, nowMs));
  return {
    actions: free.filter((action) => !isHeld(retryAt(action), nowMs)),
    waiting: decision.waiting,
    wakeAtMs: held.reduce<number | undefined>(earliest, decision.wakeAtMs),
  };
}

function decideAll(input: DecideInput): Decision {
  const { intent, progress, nowMs } = input;
  if (intent.kind === 'remove' || progress.terminal !== undefined) return decideTeardown(input);
  const deadlineMs = activeDeadlineMs(input);
  if (deadlineMs !== undefined && nowMs >= deadlineMs) return deadlineExceeded();
  const decision = decideRun(input);
  return { ...decision, wakeAtMs: earliest(decision.wakeAtMs, deadlineMs) };
}

function activeDeadlineMs(input: DecideInput): number | undefined {
  const seconds = input.pod.spec?.activeDeadlineSeconds;
  if (seconds === undefined || input.progress.startedAtMs === 0) return undefined;
  return input.progress.startedAtMs + seconds * 1000;
}

function deadlineExceeded(): Decision {
  const finish: PodAction = {
    kind: 'finish',
    phase: 'Failed',
    reason: 'DeadlineExceeded',
    message: 'Pod was active on the node longer than the specified deadline',
  };
  return { actions: [finish], waiting: new Map(), wakeAtMs: undefined };
}

/** The earlier of two times, either of which may be absent. */
export function earliest(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined) return b;
  return b === undefined ? a : Math.min(a, b);
}
