/** Termination of one container: preStop hook within the grace period, then the stop signal, then SIGKILL. */

import type { LifecycleHandler, Pod } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { secondsInMs } from '#api/kit/int64.ts';
import type { RuntimeService } from '#cri/gen/cri-v1.ts';
import type { RunHandler } from '../../hooks/lifecycle.ts';
import type { Observer } from '../../observe/observer.ts';
import { stopTimeout } from '../../runtime/stop-timeout.ts';
import { appContainers, initContainers } from '../decide/containers.ts';
import type { ActionOf, ContainerSpec, KillReason } from '../decide/decision-types.ts';
import type { PodEvent } from '../pod-event.ts';

/** Grace period of the container after its hook used the whole period, in seconds. */
const LEAST_AFTER_HOOK_SECONDS = 2;

export interface KillDeps {
  readonly runtime: Pick<RuntimeService, 'stopContainer'>;
  readonly observer: Pick<Observer, 'refreshContainer'>;
  readonly runHandler: RunHandler;
  readonly event: PodEvent;
  readonly clock: Clock;
}

export interface ContainerKiller {
  /** Terminates the container. Aborts when `signal` fires, so that it can be called again with a shorter
   *  grace period; a hook runs only once. */
  kill(pod: Pod, action: ActionOf<'killContainer'>, signal: AbortSignal): Promise<void>;
}

export function createContainerKiller(deps: KillDeps): ContainerKiller {
  const { runtime, observer, clock } = deps;
  /** Containers whose preStop hook has been started. */
  const hooksStarted = new Set<string>();

  async function runPreStop(
    pod: Pod,
    action: ActionOf<'killContainer'>,
    handler: LifecycleHandler,
    signal: AbortSignal,
  ): Promise<void> {
    const { container, gracePeriodSeconds } = action;
    hooksStarted.add(container.id);
    const spec = specOf(pod, container.name);
    const limit = new AbortController();
    const timer = clock.setTimer(
      () => limit.abort(new Error('grace period is over')),
      secondsInMs(gracePeriodSeconds),
    );
    const target = { pod, container: spec, containerId: container.id };
    try {
      await deps.runHandler(handler, target, AbortSignal.any([signal, limit.signal]));
    } catch (thrown) {
      signal.throwIfAborted();
      const message = limit.signal.aborted
        ? `PreStopHook of container ${container.name} did not end within the grace period of ${gracePeriodSeconds}s`
        : asError(thrown).message;
      deps.event(pod, 'Warning', 'FailedPreStopHook', message, spec);
    } finally {
      timer.cancel();
    }
  }

  return {
    async kill(pod, action, signal) {
      const { container, gracePeriodSeconds } = action;
      const startedMs = clock.monotonic();
      const spec = specOf(pod, container.name);
      if (!hooksStarted.has(container.id)) {
        deps.event(
          pod,
          'Normal',
          'Killing',
          killMessage(container.name, action.reason, action.message),
          spec,
        );
      }
      const handler = spec.lifecycle?.preStop;
      let leftSeconds = Number(gracePeriodSeconds);
      if (handler !== undefined && gracePeriodSeconds > 0 && !hooksStarted.has(container.id)) {
        await runPreStop(pod, action, handler, signal);
        const usedSeconds = Math.floor((clock.monotonic() - startedMs) / 1000);
        leftSeconds = Math.max(LEAST_AFTER_HOOK_SECONDS, leftSeconds - usedSeconds);
      }
      const request = { containerId: container.id, timeout: stopTimeout(leftSeconds) };
      await runtime.stopContainer(request, { signal });
      hooksStarted.delete(container.id);
      await observer.refreshContainer(container.id);
    },
  };
}

function killMessage(name: string, reason: KillReason, message: string): string {
  switch (reason) {
    case 'Unhealthy':
      return `Container ${name} failed its probe and will be restarted: ${message}`;
    case 'Changed':
      return `Container ${name} definition changed, will be restarted`;
    case 'StateUnknown':
      return `Container ${name} is in an unknown state and will be replaced`;
    case 'SandboxEnded':
      return `Stopping container ${name}, since its sandbox has ended`;
    case 'PodDeleted':
    case 'PodFinished':
      return `Stopping container ${name}`;
    default:
      return reason satisfies never;
  }
}

/** Returns the spec of the container; one that the pod no longer has is reduced to its name. */
function specOf(pod: Pod, name: string): ContainerSpec {
  const all = [...appContainers(pod), ...initContainers(pod), ...(pod.spec?.ephemeralContainers ?? [])];
  return all.find((spec) => spec.name === name) ?? { name };
}
