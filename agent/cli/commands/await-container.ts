/** Waits for an ephemeral container to start or to end. */
import type { ContainerState, Pod } from '#api/gen/core-v1.ts';
import type { LocalApi } from '../client/api-client.ts';
import { CommandError } from '../errors.ts';
import { followPods } from '../listing/watch-pods.ts';

/** Waiting reasons on the way to running; any other waiting reason is a failure. */
const STARTING: ReadonlySet<string> = new Set(['', 'ContainerCreating', 'PodInitializing']);

/** Returns the status of the ephemeral container in the pod status. Pure. */
function ephemeralState({ status }: Pod, name: string): ContainerState {
  return status?.ephemeralContainerStatuses?.find((container) => container.name === name)?.state ?? {};
}

/** Resolves once the container runs or has run.
 *  @throws CommandError when it fails to start; the agent keeps retrying */
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
      throw new CommandError(`container ${name} has not started, the agent keeps retrying: ${why}`);
    }
    return state.running === undefined && state.terminated === undefined ? undefined : state;
  });
}

/** Resolves to the exit code of the container once it has ended. @throws CommandError when the pod was
 *  deleted */
export function awaitEnd(api: LocalApi, pod: Pod, name: string, signal: AbortSignal): Promise<number> {
  return awaitState(api, pod, signal, (found) => ephemeralState(found, name).terminated?.exitCode);
}

async function awaitState<T>(
  api: LocalApi,
  pod: Pod,
  signal: AbortSignal,
  inspect: (pod: Pod) => T | undefined,
): Promise<T> {
  const uid = pod.metadata?.uid;
  for await (const change of followPods(api, signal)) {
    if (change.type === 'BOOKMARK' || change.pod.metadata?.uid !== uid) continue;
    if (change.type === 'DELETED') break;
    const found = inspect(change.pod);
    if (found !== undefined) return found;
  }
  throw new CommandError(`pod ${pod.metadata?.name} was deleted`);
}
