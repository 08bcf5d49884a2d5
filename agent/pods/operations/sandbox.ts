/** Creation and stop of the sandbox of a pod. */
import type { Clock } from '#api/kit/clock.ts';
import type { Limiter } from '#api/kit/limiter.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { PodSandboxConfig, RuntimeService } from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import type { PodCgroups } from '../../cgroups/pod-cgroups.ts';
import { podLogDir } from '../../logs/paths.ts';
import type { Observer } from '../../observe/observer.ts';
import type { RuntimeView } from '../../observe/runtime-view.ts';
import type { IdentifiedPod } from '../../pod-identity/identity.ts';
import type { Owner } from '../../pod-identity/labels.ts';
import type { DnsSettings } from '../../runtime/config/hostname.ts';
import type { ResourceSettings } from '../../runtime/config/resources.ts';
import { createSandboxConfig } from '../../runtime/config/sandbox.ts';
import type { LostSandboxes } from '../../runtime/lost-sandboxes.ts';
import { isAlive } from '../decide/containers.ts';
import type { PodEvent } from '../pod-event.ts';

/** Covers configuration and network setup; the limits of the runtime are shorter. */
const RUN_SANDBOX_TIMEOUT_MS = 240_000;

/** Settings of the agent that affect sandboxes. */
export interface SandboxSettings {
  readonly owner: Owner;
  readonly podLogsDir: string;
  readonly resources: ResourceSettings;
  readonly dns: () => Promise<DnsSettings>;
}

export interface SandboxConfigDeps {
  readonly cgroups: Pick<PodCgroups, 'ensure'>;
  readonly event: PodEvent;
  readonly settings: SandboxSettings;
}

export interface RelistDeps {
  readonly observer: Pick<Observer, 'relist'>;
  readonly log: Logger;
}

export interface CreateSandboxDeps extends SandboxConfigDeps, RelistDeps {
  /** Sandboxes of lost agent instances, which may block the sandbox name of a pod. */
  readonly lost?: Pick<LostSandboxes, 'removeOf'>;
  readonly runtime: Pick<RuntimeService, 'runPodSandbox' | 'podSandboxStatus'>;
  /** Runtime handler of a pod with a RuntimeClass. */
  readonly runtimeHandler: (pod: IdentifiedPod['pod']) => Promise<string>;
  readonly view: RuntimeView;
  /** Limits concurrent starts to the number at which the runtime is fastest. */
  readonly starts: Pick<Limiter, 'run'>;
  readonly clock: Clock;
}

export interface StopSandboxDeps {
  readonly runtime: Pick<RuntimeService, 'stopPodSandbox'>;
  readonly view: RuntimeView;
  readonly observer: Pick<Observer, 'refreshContainer'>;
}

/** The sandbox of a pod cannot be configured as specified. */
class SandboxConfigError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SandboxConfigError';
  }
}

/** Returns the sandbox configuration of one attempt. @throws SandboxConfigError, CgroupDriverError */
export async function sandboxConfig(
  { settings, event, cgroups }: SandboxConfigDeps,
  target: IdentifiedPod,
  attempt: number,
  options: { readonly warn: boolean },
): Promise<MessageInput<PodSandboxConfig>> {
  const { pod } = target;
  const { owner, podLogsDir, resources } = settings;
  const [cgroupParent, dns] = await Promise.all([cgroups.ensure(target), settings.dns()]);
  const logDirectory = podLogDir(podLogsDir, target);
  const result = createSandboxConfig({ pod, attempt, owner, logDirectory, cgroupParent, dns, resources });
  if (result.kind === 'error') throw new SandboxConfigError(result.message);
  if (options.warn) {
    for (const { reason, message } of result.warnings) event(pod, 'Warning', reason, message);
  }
  return result.config;
}

/** Creates the sandbox and stores it with its addresses. A call in flight runs to completion even when
 *  `signal` fires. */
export async function createSandbox(
  deps: CreateSandboxDeps,
  target: IdentifiedPod,
  attempt: number,
  signal: AbortSignal,
): Promise<void> {
  const { runtime, view, clock, starts } = deps;
  const { pod, uid, namespace, name } = target;
  const config = await sandboxConfig(deps, target, attempt, { warn: attempt === 0 });
  const runtimeHandler = await deps.runtimeHandler(pod);
  const createdAtMs = clock.now();
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
    ips: pod.spec?.hostNetwork === true ? [] : await sandboxIPs(runtime, podSandboxId),
  });
}

async function removeLost(
  { lost, log }: Pick<CreateSandboxDeps, 'lost' | 'log'>,
  podUID: string,
): Promise<boolean> {
  try {
    return (await lost?.removeOf(podUID)) === true;
  } catch (err) {
    log.debug({ err, podUID }, 'Failed to remove sandboxes of lost agent instances');
    return false;
  }
}

/** Relists before rethrowing: a failed call may have taken effect, or have collided with that of an earlier
 *  agent. */
export async function relistAndThrow({ observer, log }: RelistDeps, thrown: unknown): Promise<never> {
  await observer
    .relist()
    .catch((err: unknown) => log.debug({ err }, 'Failed to relist runtime after a failed call'));
  throw thrown;
}

async function sandboxIPs(
  runtime: CreateSandboxDeps['runtime'],
  podSandboxId: string,
): Promise<readonly string[]> {
  const { status } = await runtime.podSandboxStatus({ podSandboxId });
  const first = status?.network?.ip ?? '';
  const others = status?.network?.additionalIps ?? [];
  return [first, ...others.map(({ ip }) => ip)].filter((ip) => ip !== '');
}

/** Stops the sandbox, which terminates its containers and releases its network. Idempotent. */
export async function stopSandbox(
  { runtime, view, observer }: StopSandboxDeps,
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
