/** Decisions for terminating a pod: containers, then sidecars in reverse order, then sandbox, then volumes;
 *  and for a removed pod, everything that is left of it. Pure. */
import type { ObservedContainer } from '../../observe/types.ts';
import { initContainers, isAlive, isSidecar } from './containers.ts';
import type { DecideInput, Decision, KillReason, PodAction } from './decision-types.ts';
import { isContainerWorkInFlight } from './decision-types.ts';

const decision = (actions: readonly PodAction[]): Decision => ({
  actions,
  waiting: new Map(),
  wakeAtMs: undefined,
});

export function decideTeardown(input: DecideInput): Decision {
  const { observed, progress, intent } = input;
  const alive = observed.containers.filter(isAlive);
  if (alive.length > 0) return decision(nextToKill(input, alive).map((container) => kill(input, container)));
  if (isContainerWorkInFlight(input.progress)) return decision([]);

  const sandbox = observed.sandboxes.find(({ ready, id }) => ready && !progress.stoppedSandboxes.has(id));
  if (sandbox !== undefined) return decision([{ kind: 'stopSandbox', sandboxId: sandbox.id }]);
  if (progress.busy.has('sandbox') || progress.busy.has('volumes')) return decision([]);

  const keepVolumes = intent.kind === 'run' && input.keepTerminatedVolumes;
  if (progress.volumes !== 'none' && !keepVolumes) return decision([{ kind: 'unmountVolumes' }]);
  const isSettled = !observed.containers.some(({ isProvisional }) => isProvisional);
  return decision(intent.kind === 'remove' && isSettled ? [{ kind: 'removePod' }] : []);
}

/** App, init and ephemeral containers first, all at once; then sidecars one by one, the last started first. */
function nextToKill(input: DecideInput, alive: readonly ObservedContainer[]): readonly ObservedContainer[] {
  const sidecarNames = initContainers(input.pod)
    .filter(isSidecar)
    .map(({ name }) => name);
  const others = alive.filter(({ name }) => !sidecarNames.includes(name));
  if (others.length > 0) return others;
  const last = sidecarNames.findLast((name) => alive.some((container) => container.name === name));
  return alive.filter(({ name }) => name === last);
}

function kill(input: DecideInput, container: ObservedContainer): PodAction {
  const { intent, progress, pod } = input;
  const reason: KillReason = intent.kind === 'remove' ? 'PodDeleted' : 'PodFinished';
  const own = progress.terminal?.gracePeriodSeconds ?? pod.spec?.terminationGracePeriodSeconds ?? 30;
  const gracePeriodSeconds = intent.kind === 'remove' ? intent.gracePeriodSeconds : own;
  const message = progress.terminal?.message ?? '';
  return { kind: 'killContainer', container, reason, message, gracePeriodSeconds };
}
