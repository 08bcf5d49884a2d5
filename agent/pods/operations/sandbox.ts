/** Creation and stop of the sandbox of a pod. */
import type { Pod } from '#api/gen/core-v1.ts';
import type { PodSandboxConfig } from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import { podIdentity } from '../../pod-identity/identity.ts';
import { createSandboxConfig } from '../../runtime/config/sandbox.ts';
import { isAlive } from '../decide/containers.ts';
import type { OperationDeps } from './deps.ts';

/** Covers configuration and network setup; the limits of the runtime are shorter. */
const RUN_SANDBOX_TIMEOUT_MS = 240_000;

/** The sandbox of a pod cannot be configured as specified. */
class SandboxConfigError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SandboxConfigError';
  }
}

/** Returns the sandbox configuration of one attempt. @throws SandboxConfigError, CgroupDriverError */
export async function sandboxConfig(
  { settings, event, cgroups }: OperationDeps,
  pod: Pod,
  attempt: number,
  options: { readonly warn: boolean },
): Promise<MessageInput<PodSandboxConfig>> {
  const { owner, podLogsDir, resources } = settings;
  const [cgroupParent, dns] = await Promise.all([cgroups.ensure(pod), settings.dns()]);
  const result = createSandboxConfig({
    pod,
    attempt,
    owner,
    podLogsDir,
    cgroupParent,
    dns,
    resources,
  });
  if (result.kind === 'error') throw new SandboxConfigError(result.message);
  if (options.warn) {
    for (const { reason, message } of result.warnings) event(pod, 'Warning', reason, message);
  }
  return result.config;
}

/** Creates the sandbox and stores it with its addresses. A call in flight runs to completion even when
 *  `signal` fires. */
export async function createSandbox(
  deps: OperationDeps,
  pod: Pod,
  attempt: number,
  signal: AbortSignal,
): Promise<void> {
  const { runtime, view, clock, starts } = deps;
  const config = await sandboxConfig(deps, pod, attempt, { warn: attempt === 0 });
  const runtimeHandler = await deps.runtimeHandler(pod);
  const createdAtMs = clock.now();
  const { uid, namespace, name } = podIdentity(pod);
  const runOnce = () =>
    runtime.runPodSandbox({ config, runtimeHandler }, { timeoutMs: RUN_SANDBOX_TIMEOUT_MS });
  const run = () =>
    runOnce()
      .catch(async (thrown: unknown) => {
        // The name may be reserved by a sandbox of an agent whose root directory is lost.
        if (!(await removeLost(deps, uid))) throw thrown;
        return await runOnce();
      })
      .catch((thrown: unknown) => relistAndThrow(deps, thrown));
  const { podSandboxId } = await starts.run(run, signal);
  view.noteSandbox({
    id: podSandboxId,
    podUID: uid,
    podNamespace: namespace,
    podName: name,
    attempt,
    ready: true,
    createdAtMs,
    ips: pod.spec?.hostNetwork === true ? [] : await sandboxIPs(deps, podSandboxId),
  });
}

async function removeLost({ lost, log }: OperationDeps, podUID: string): Promise<boolean> {
  try {
    return (await lost?.removeOf(podUID)) === true;
  } catch (err) {
    log.debug({ err, podUID }, 'Failed to remove sandboxes of lost agent instances');
    return false;
  }
}

/** Relists before rethrowing: a failed call may have taken effect, or have collided with that of an earlier
 *  agent. */
export async function relistAndThrow({ observer, log }: OperationDeps, thrown: unknown): Promise<never> {
  await observer
    .relist()
    .catch((err: unknown) => log.debug({ err }, 'Failed to relist runtime after a failed call'));
  throw thrown;
}

async function sandboxIPs({ runtime }: OperationDeps, podSandboxId: string): Promise<readonly string[]> {
  const { status } = await runtime.podSandboxStatus({ podSandboxId });
  const first = status?.network?.ip ?? '';
  const others = status?.network?.additionalIps ?? [];
  return [first, ...others.map(({ ip }) => ip)].filter((ip) => ip !== '');
}

/** Stops the sandbox, which terminates its containers and releases its network. Idempotent. */
export async function stopSandbox(
  { runtime, view, observer }: OperationDeps,
  sandboxId: string,
): Promise<void> {
  await runtime.stopPodSandbox({ podSandboxId: sandboxId });
  const sandbox = view.sandbox(sandboxId);
  if (sandbox === undefined) return;
  view.noteSandbox({ ...sandbox, ready: false });
  const ended = view
    .pod(sandbox.podUID)
    .containers.filter((one) => one.sandboxId === sandboxId && isAlive(one));
  await Promise.all(ended.map(({ id }) => observer.refreshContainer(id)));
}
