/** Waits for what becomes of an ephemeral container. */
import type { ContainerState, Pod } from '#api/schema/gen/core-v1.ts';
import type { LocalApi } from './api-client.ts';
import { CommandError } from './errors.ts';
import { followPods } from './watch-pods.ts';

/** On the way to running; every other reason to wait is a failure. */
const STARTING: ReadonlySet<string> = new Set(['', 'ContainerCreating', 'PodInitializing']);

/** What the pod's status says of the ephemeral container. Pure. */
export function ephemeralState({ status }: Pod, name: string): ContainerState {
  return status?.ephemeralContainerStatuses?.find((container) => container.name === name)?.state ?? {};
}

/** Resolves when the container has run or runs.
 *  @throws CommandError when it does not start; the agent goes on trying */
export function awaitStart(
  api: LocalApi,
  pod: Pod,
  name: string,
  signal: AbortSignal,
): Promise<ContainerState> {
  return awaitState(api, pod, signal, (found) => {
    const state = ephemeralState(found, name);
    const { reason = '', message = '' } = state.waiting ?? {};
    if (!STARTING.has(reason)) {
      const why = message === '' ? reason : `${reason}: ${message}`;
      throw new CommandError(`container ${name} does not start yet, the agent goes on trying: ${why}`);
    }
    return state.running === undefined && state.terminated === undefined ? undefined : state;
  });
}

/** Resolves to the exit code of the container once it has ended. @throws CommandError when the pod is gone */
export function awaitEnd(api: LocalApi, pod: Pod, name: string, signal: AbortSignal): Promise<number> {
  return awaitState(api, pod, signal, (found) => ephemeralState(found, name).terminated?.exitCode);
}

async function awaitState<T>(
  api: LocalApi,
  pod: Pod,
  signal: AbortSignal,
  look: (pod: Pod) => T | undefined,
): Promise<T> {
  const uid = pod.metadata?.uid;
  for await (const change of followPods(api, signal)) {
    if (change.type === 'BOOKMARK' || change.pod.metadata?.uid !== uid) continue;
    if (change.type === 'DELETED') break;
    const found = look(change.pod);
    if (found !== undefined) return found;
  }
  throw new CommandError(`pod ${pod.metadata?.name} is gone`);
}
