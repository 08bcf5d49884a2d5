/** Making and stopping a pod's sandbox. */
import type { Pod } from '#api/schema/gen/core-v1.ts';
import type { PodSandboxConfig } from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import { makeSandboxConfig } from '../../runtime/config/sandbox.ts';
import { isAlive } from '../containers.ts';
import { podIdentity } from '../identity.ts';
import type { OperationDeps } from './deps.ts';

/** Configuration and network set-up together; the runtime's own limits are shorter. */
const RUN_SANDBOX_TIMEOUT_MS = 240_000;

/** A pod that cannot have a sandbox as it is described. */
export class SandboxConfigError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SandboxConfigError';
  }
}

/** The sandbox configuration of one attempt. @throws SandboxConfigError, CgroupDriverError */
export async function sandboxConfig(
  { settings, event, cgroups }: OperationDeps,
  pod: Pod,
  attempt: number,
  options: { readonly warn: boolean },
): Promise<MessageInput<PodSandboxConfig>> {
  const { owner, podLogsDir, resources } = settings;
  const [cgroupParent, dns] = await Promise.all([cgroups.ensure(pod), settings.dns()]);
  const result = makeSandboxConfig({
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

/** Makes the sandbox and notes it with its addresses. What the runtime has begun it ends, whatever `signal` says. */
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
        // Its name may be taken by what an agent left whose root directory is lost.
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
    log.debug({ err, podUID }, 'Sandboxes of lost agent instances were not removed');
    return false;
  }
}

/** A call that failed may have had its effect all the same, or found that of an earlier agent's call in its way. */
export async function relistAndThrow({ observer, log }: OperationDeps, thrown: unknown): Promise<never> {
  await observer.relist().catch((err: unknown) => log.debug({ err }, 'Runtime could not be read either'));
  throw thrown;
}

async function sandboxIPs({ runtime }: OperationDeps, podSandboxId: string): Promise<readonly string[]> {
  const { status } = await runtime.podSandboxStatus({ podSandboxId });
  const first = status?.network?.ip ?? '';
  const others = status?.network?.additionalIps ?? [];
  return [first, ...others.map(({ ip }) => ip)].filter((ip) => ip !== '');
}

/** Stops the sandbox: ends what still runs in it and frees its network. Done already is fine. */
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
