/** Decides the next actions for one pod. Pure: never reads the clock, the runtime or a file.
 *
 *  Each round takes the desired state, the observed state and the operations in flight, and returns every
 *  action that can start now. The worker starts them and decides again after any change, so a crash between
 *  two rounds needs no repair code: the next round decides from the observed state.
 *
 *      run ──(all containers exited, deadline, failed init)──▶ finish ──▶ teardown ──▶ rest
 *       └──────────────(no longer desired)──────────────────────────────▶ teardown ──▶ removePod
 *
 *  Source: pod lifecycle, document 3 §1; upstream 1.24. */

import { secondsInMs } from '#api/kit/int64.ts';
import { isBackingOff } from './backoff.ts';
import { decideRun } from './decide-run.ts';
import { decideTeardown } from './decide-teardown.ts';
import { type DecideInput, type Decision, operationKey, type PodAction } from './decision-types.ts';

/** Returns the actions that can start now, the waiting reasons of containers, and the time of the next
 *  decision. */
export function decidePod(input: DecideInput): Decision {
  const { progress, nowMs } = input;
  const decision = decideAll(input);
  const free = decision.actions.filter((action) => !progress.busy.has(operationKey(action)));
  const retryAt = (action: PodAction): number => progress.retryAtMs.get(operationKey(action)) ?? 0;
  const waitTimes = free.map(retryAt).filter((atMs) => isBackingOff(atMs, nowMs));
  return {
    actions: free.filter((action) => !isBackingOff(retryAt(action), nowMs)),
    waiting: decision.waiting,
    wakeAtMs: waitTimes.reduce<number | undefined>(earliest, decision.wakeAtMs),
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
  return input.progress.startedAtMs + secondsInMs(seconds);
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

/** Returns the earlier of two times, either of which may be absent. */
export function earliest(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined) return b;
  return b === undefined ? a : Math.min(a, b);
}
