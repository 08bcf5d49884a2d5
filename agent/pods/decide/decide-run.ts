/** Decisions for a pod that should run: volumes and sandbox, init containers in order, app containers in
 *  parallel, restarts by policy and backoff. Pure. */
import type { Container } from '#api/gen/core-v1.ts';
import type { Int64 } from '#api/kit/int64.ts';
import { formatTime } from '#api/meta/time.ts';
import type { ObservedContainer, ObservedSandbox } from '../../observe/types.ts';
import { podLabel } from '../../pod-identity/identity.ts';
import { crashDelayMs, isBackingOff } from './backoff.ts';
import {
  appContainers,
  hasSettled,
  initContainers,
  isAlive,
  isOutdated,
  isSidecar,
  latest,
  restartsAfterEnd,
  succeeded,
  unstartedReason,
} from './containers.ts';
import {
  type ContainerSpec,
  type DecideInput,
  type Decision,
  operationKey,
  type PodAction,
  type WaitingReason,
} from './decision-types.ts';

export function decideRun(input: DecideInput): Decision {
  const draft = createDecisionBuilder();
  const sandbox = input.observed.sandboxes[0];
  if (isFinished(input)) {
    draft.act(finish(input));
  } else {
    if (input.progress.volumes !== 'mounted') draft.act({ kind: 'mountVolumes' });
    if (sandbox?.ready === true && !input.progress.stoppedSandboxes.has(sandbox.id)) {
      planContainers(input, sandbox, draft);
    } else {
      planSandbox(input, sandbox, draft);
    }
  }
  return draft.decision();
}

/** Reports whether every app container has exited for good or an init container failed for good, with all
 *  exit states known. */
function isFinished(input: DecideInput): boolean {
  const { pod, observed } = input;
  if (failedInit(input) !== undefined) return true;
  return appContainers(pod).every((spec) => {
    const container = latest(observed.containers, spec.name);
    return hasSettled(container) && !restartsAfterEnd(pod, container) && !isOutdated(spec, container);
  });
}

/** Returns the init container whose failure terminates the pod. */
function failedInit({ pod, observed }: DecideInput): ObservedContainer | undefined {
  if (pod.spec?.restartPolicy !== 'Never') return undefined;
  return initContainers(pod)
    .filter((container) => !isSidecar(container))
    .map(({ name }) => latest(observed.containers, name))
    .find((container) => hasSettled(container) && !succeeded(container));
}

function finish(input: DecideInput): {
  kind: 'finish';
  phase: 'Succeeded' | 'Failed';
  reason: string;
  message: string;
} {
  const { pod, observed } = input;
  const allSucceeded = appContainers(pod).every(({ name }) => {
    const container = latest(observed.containers, name);
    return container !== undefined && succeeded(container);
  });
  return { kind: 'finish', phase: allSucceeded ? 'Succeeded' : 'Failed', reason: '', message: '' };
}

/** Stops a dead sandbox first, which also terminates the containers in it and releases its network. The next
 *  sandbox is created only once the exit of every container is known: one of them may terminate the pod. */
function planSandbox(input: DecideInput, sandbox: ObservedSandbox | undefined, draft: DecisionBuilder): void {
  const { progress, pod, observed } = input;
  const alive = observed.containers.filter(isAlive);
  const message = volumesMessage(input);
  for (const { name } of [...initContainers(pod), ...appContainers(pod)])
    draft.wait(name, unstartedReason(pod), message);
  if (sandbox !== undefined && !progress.stoppedSandboxes.has(sandbox.id)) {
    draft.act({ kind: 'stopSandbox', sandboxId: sandbox.id });
  } else if (alive.length > 0) {
    for (const container of alive) draft.act(endWithSandbox(container));
  } else if (!observed.containers.some(({ isProvisional }) => isProvisional)) {
    draft.act({ kind: 'createSandbox', attempt: sandbox === undefined ? 0 : sandbox.attempt + 1 });
  }
}

function endWithSandbox(container: ObservedContainer): PodAction {
  return { kind: 'killContainer', container, reason: 'SandboxEnded', message: '', gracePeriodSeconds: 0 };
}

/** Returns the time of the next mount attempt after a failure. It stays until the volumes are ready, so that
 *  the status changes once per attempt. */
function volumesMessage({ progress: { volumes, retryAtMs } }: DecideInput): string {
  const atMs = retryAtMs.get(operationKey({ kind: 'mountVolumes' }));
  if (volumes === 'mounted' || atMs === undefined) return '';
  return `its volumes are not ready; the next try is at ${formatTime(atMs)}`;
}

function planContainers(input: DecideInput, sandbox: ObservedSandbox, draft: DecisionBuilder): void {
  // First, and whatever the state of the others: ephemeral containers serve to find out why those do not run.
  for (const container of input.pod.spec?.ephemeralContainers ?? []) {
    planContainer({ input, sandbox, draft, spec: container, kind: 'ephemeral' });
  }
  const initialized = planInit(input, sandbox, draft);
  for (const container of appContainers(input.pod)) {
    if (initialized) planContainer({ input, sandbox, draft, spec: container, kind: 'app' });
    else draft.wait(container.name, 'PodInitializing');
  }
}

/** Plans the init containers; returns whether the app containers may start. */
function planInit(input: DecideInput, sandbox: ObservedSandbox, draft: DecisionBuilder): boolean {
  const here = input.observed.containers.filter(({ sandboxId }) => sandboxId === sandbox.id);
  const appStarted = appContainers(input.pod).some(({ name }) => latest(here, name) !== undefined);
  let mayProceed = true;
  for (const spec of initContainers(input.pod)) {
    if (isSidecar(spec)) {
      if (!mayProceed && !appStarted) draft.wait(spec.name, 'PodInitializing');
      else mayProceed = planSidecar(input, sandbox, spec, draft) && mayProceed;
    } else if (!appStarted && mayProceed) {
      mayProceed = planInitContainer(input, sandbox, spec, draft);
    } else if (!mayProceed) {
      draft.wait(spec.name, 'PodInitializing');
    }
  }
  return mayProceed || appStarted;
}

function planSidecar(
  input: DecideInput,
  sandbox: ObservedSandbox,
  spec: Container,
  draft: DecisionBuilder,
): boolean {
  planContainer({ input, sandbox, draft, spec, kind: 'init' });
  const running = latest(input.observed.containers, spec.name);
  if (running?.state !== 'running' || running.sandboxId !== sandbox.id) return false;
  return spec.startupProbe === undefined || input.progress.probes.get(running.id)?.started === true;
}

/** Returns whether the init container has succeeded in this sandbox. */
function planInitContainer(
  input: DecideInput,
  sandbox: ObservedSandbox,
  spec: Container,
  draft: DecisionBuilder,
): boolean {
  const previous = latest(input.observed.containers, spec.name);
  const isHere = previous?.sandboxId === sandbox.id;
  if (isHere && succeeded(previous)) return true;
  planContainer({ input, sandbox, draft, spec, kind: 'init', rerun: !isHere });
  return false;
}

interface ContainerPlan {
  readonly input: DecideInput;
  readonly sandbox: ObservedSandbox;
  readonly draft: DecisionBuilder;
  readonly spec: ContainerSpec;
  readonly kind: ObservedContainer['kind'];
  /** The container exited in an earlier sandbox and has to run again, without backoff. */
  readonly rerun?: boolean;
}

/** Starts, restarts, kills or leaves alone one container that may run now. */
function planContainer(plan: ContainerPlan): void {
  const { input, draft, spec } = plan;
  const previous = latest(input.observed.containers, spec.name);
  if (previous === undefined) return planStart(plan, undefined);
  switch (previous.state) {
    case 'running':
      return planRunning(plan, previous);
    case 'created':
      draft.wait(spec.name, unstartedReason(input.pod));
      return draft.act({ kind: 'removeContainer', container: previous });
    case 'unknown':
      return draft.act(killAction(plan, previous, 'StateUnknown', 'its state could not be read'));
    case 'exited':
      if (startsAgain(plan, previous)) planStart(plan, previous);
  }
}

function planRunning(plan: ContainerPlan, container: ObservedContainer): void {
  if (isOutdated(plan.spec, container)) {
    return plan.draft.act(killAction(plan, container, 'Changed', 'its image has changed'));
  }
  const failure = plan.input.progress.probes.get(container.id)?.failure;
  if (failure === undefined) return;
  plan.draft.act(killAction(plan, container, 'Unhealthy', failure.message, failure.gracePeriodSeconds));
}

function killAction(
  { input }: ContainerPlan,
  container: ObservedContainer,
  reason: 'Unhealthy' | 'StateUnknown' | 'Changed',
  message: string,
  graceSeconds?: Int64,
) {
  const gracePeriodSeconds = graceSeconds ?? input.pod.spec?.terminationGracePeriodSeconds ?? 30;
  return { kind: 'killContainer', container, reason, message, gracePeriodSeconds } as const;
}

function startsAgain({ input, spec, kind }: ContainerPlan, previous: ObservedContainer): boolean {
  if (kind === 'ephemeral') return false;
  if (kind === 'init')
    return 'restartPolicy' in spec || input.pod.spec?.restartPolicy !== 'Never' || succeeded(previous);
  return restartsAfterEnd(input.pod, previous) || isOutdated(spec, previous);
}

/** Starts a container unless its volumes, its backoff or its last failed start require a wait. */
function planStart(plan: ContainerPlan, previous: ObservedContainer | undefined): void {
  const { input, draft, spec, kind, sandbox } = plan;
  const progress = input.progress.containers.get(spec.name);
  const crashDelay =
    previous === undefined || plan.rerun === true || isOutdated(spec, previous)
      ? 0
      : crashDelayMs(progress?.crash, previous.finishedAtMs);
  const crashReadyMs = (previous?.finishedAtMs ?? 0) + crashDelay;
  const retryAtMs = progress?.failure?.retryAtMs ?? 0;
  if (crashDelay > 0 && isBackingOff(crashReadyMs, input.nowMs)) {
    draft.wait(spec.name, 'CrashLoopBackOff', crashMessage(plan, crashDelay));
    return draft.wakeAt(crashReadyMs);
  }
  if (progress?.failure === undefined)
    draft.wait(spec.name, unstartedReason(input.pod), volumesMessage(input));
  else draft.wait(spec.name, progress.failure.reason, progress.failure.message);
  if (isBackingOff(retryAtMs, input.nowMs)) return draft.wakeAt(retryAtMs);
  if (input.progress.volumes !== 'mounted') return;
  const attempt = Math.max((previous?.attempt ?? -1) + 1, input.progress.attempts.get(spec.name) ?? 0);
  draft.act({ kind: 'startContainer', spec, containerKind: kind, attempt, sandboxId: sandbox.id, previous });
}

const crashMessage = ({ input, spec }: ContainerPlan, delayMs: number): string =>
  `back-off ${formatDelay(delayMs)} restarting failed container=${spec.name} pod=${podLabel(input.pod)}`;

/** Formats whole seconds as upstream does: `10s`, `2m40s`. */
function formatDelay(delayMs: number): string {
  const seconds = Math.round(delayMs / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}

interface DecisionBuilder {
  act(action: PodAction): void;
  wait(container: string, reason: string, message?: string): void;
  wakeAt(atMs: number): void;
  decision(): Decision;
}

function createDecisionBuilder(): DecisionBuilder {
  const actions: PodAction[] = [];
  const waiting = new Map<string, WaitingReason>();
  let wakeAtMs: number | undefined;
  return {
    act: (action) => void actions.push(action),
    wait: (container, reason, message = '') => void waiting.set(container, { reason, message }),
    wakeAt(atMs) {
      wakeAtMs = wakeAtMs === undefined ? atMs : Math.min(wakeAtMs, atMs);
    },
    decision: () => ({ actions, waiting, wakeAtMs }),
  };
}
