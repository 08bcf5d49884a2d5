/** State of a pod in the runtime, and restarts of its containers, for the local socket. */
import { StatusError } from '#api/meta/status-error.ts';
import type { RuntimeService } from '#cri/gen/cri-v1.ts';
import { podIdentity } from '../pod-identity/identity.ts';
import type { PodEntry } from '../pods/slot.ts';
import { podObject } from './pod-view.ts';
import type { Route, RouteRequest, RouteResult } from './routes.ts';
import type { StreamUrlDeps } from './stream-urls.ts';

export interface PodRuntimeDeps extends Pick<StreamUrlDeps, 'view'> {
  readonly runtime: Pick<RuntimeService, 'podSandboxStatus' | 'containerStatus' | 'stopContainer'>;
}

export interface PodRuntimeRouteDeps {
  /** State of the pod in the runtime. */
  readonly inspect: (entry: PodEntry) => Promise<object>;
  /** Stops the running containers of a pod, which the agent then starts again. @throws StatusError */
  readonly restart: (entry: PodEntry, container: string | undefined) => Promise<readonly string[]>;
}

const json = (value: unknown): RouteResult => ({ kind: 'json', value });

/** @param entryOf returns the pod of a request */
export function podRuntimeRoutes(
  deps: PodRuntimeRouteDeps,
  entryOf: (request: RouteRequest) => PodEntry,
): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/inspect/:namespace/:name',
      handle: async (request) => {
        const entry = entryOf(request);
        return json({ pod: podObject(entry), ...(await deps.inspect(entry)) });
      },
    },
    {
      method: 'POST',
      path: '/pods/:namespace/:name/restart',
      handle: async (request) => {
        const container = request.query.get('container') ?? undefined;
        return json({ containers: await deps.restart(entryOf(request), container) });
      },
    },
  ];
}

/** Returns sandboxes and containers as the runtime reports them. */
export async function inspectPod({ runtime, view }: PodRuntimeDeps, { pod }: PodEntry): Promise<object> {
  const { sandboxes, containers } = view.pod(podIdentity(pod).uid);
  const [sandboxStates, containerStates] = await Promise.all([
    Promise.all(sandboxes.map(({ id }) => runtime.podSandboxStatus({ podSandboxId: id, verbose: false }))),
    Promise.all(containers.map(({ id }) => runtime.containerStatus({ containerId: id, verbose: false }))),
  ]);
  return {
    sandboxes: sandboxStates.map(({ status }) => status),
    containers: containerStates.map(({ status }) => status),
  };
}

const DEFAULT_GRACE_SECONDS = 30;

/** Stops running containers with the grace period of the pod; the agent starts them again.
 *  @returns names of the stopped containers
 *  @throws StatusError when the containers would not be started again, or none runs */
export async function restartContainers(
  { runtime, view }: PodRuntimeDeps,
  { pod }: PodEntry,
  container: string | undefined,
): Promise<readonly string[]> {
  const { uid, name } = podIdentity(pod);
  const { restartPolicy = 'Always', containers = [], terminationGracePeriodSeconds } = pod.spec ?? {};
  if (restartPolicy !== 'Always') {
    const message = `pod ${name} has restartPolicy ${restartPolicy}, so its containers would not start again`;
    throw new StatusError('Conflict', message);
  }
  const names = containers.map((spec) => spec.name);
  if (container !== undefined && !names.includes(container)) {
    const message = `container ${JSON.stringify(container)} is not in this pod, which has: ${names.join(', ')}`;
    throw new StatusError('BadRequest', message);
  }
  const wanted = new Set(container === undefined ? names : [container]);
  const running = view.pod(uid).containers.filter((one) => wanted.has(one.name) && one.state === 'running');
  if (running.length === 0) throw new StatusError('Conflict', `no container of pod ${name} is running`);
  const timeout = BigInt(terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS);
  await Promise.all(running.map(({ id }) => runtime.stopContainer({ containerId: id, timeout })));
  return running.map((one) => one.name);
}
