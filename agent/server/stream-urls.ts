/** Creates streaming sessions on the runtime and returns their addresses. */
import { StatusError } from '#api/meta/status-error.ts';
import type { RuntimeService } from '#cri/gen/cri-v1.ts';
import type { RuntimeView } from '../observe/runtime-view.ts';
import { podIdentity } from '../pod-identity/identity.ts';
import { chooseContainer } from '../pods/choose-container.ts';
import type { ContainerSpec } from '../pods/decide/decision-types.ts';
import type { PodEntry } from '../pods/slot.ts';
import type { AttachQuery, ExecQuery } from './stream-routes.ts';

export interface StreamUrlDeps {
  readonly runtime: Pick<RuntimeService, 'exec' | 'attach' | 'portForward'>;
  readonly view: Pick<RuntimeView, 'pod'>;
  readonly defaultContainerKey: string;
}

/** Streams requested by a client; all unless selected. */
export interface WantedOutputs {
  readonly stdout: boolean;
  readonly stderr: boolean;
}

/** Returns the address of the streams of a new process. @throws StatusError when the container is unknown or
 *  does not run */
export async function execUrl(
  deps: StreamUrlDeps,
  entry: PodEntry,
  query: ExecQuery & Partial<WantedOutputs>,
): Promise<string> {
  const { id } = runningContainer(deps, entry, query.container);
  const { stdin, tty, command, stdout = true, stderr = !tty } = query;
  const { url } = await deps.runtime.exec({ containerId: id, cmd: command, tty, stdin, stdout, stderr });
  return url;
}

/** Returns the address of the streams of the main process of the container.
 *  @throws StatusError when the container is unknown, does not run, or was created without a requested stream */
export async function attachUrl(
  deps: StreamUrlDeps,
  entry: PodEntry,
  query: AttachQuery & Partial<WantedOutputs>,
): Promise<string> {
  const { id, spec } = runningContainer(deps, entry, query.container);
  const { stdin, tty, stdout = true, stderr = !tty } = query;
  for (const member of ['stdin', 'tty'] as const) {
    if (!query[member] || spec[member] === true) continue;
    throw new StatusError(
      'BadRequest',
      `container ${spec.name} was created without ${member}: true in its spec`,
    );
  }
  const { url } = await deps.runtime.attach({ containerId: id, stdin, tty, stdout, stderr });
  return url;
}

/** Returns the address of connections to ports on the loopback interface of the pod; without ports, the
 *  streams name them.
 *  @throws StatusError when the pod has no ready sandbox */
export async function portForwardUrl(
  { runtime, view }: StreamUrlDeps,
  { pod }: PodEntry,
  ports: readonly number[],
): Promise<string> {
  const { uid, name } = podIdentity(pod);
  const [sandbox] = view.pod(uid).sandboxes;
  if (sandbox?.ready !== true) throw new StatusError('BadRequest', `pod ${name} is not running`);
  const { url } = await runtime.portForward({ podSandboxId: sandbox.id, port: ports });
  return url;
}

/** A running container and its spec. */
export interface Running {
  readonly id: string;
  readonly spec: ContainerSpec;
}

/** @throws StatusError when the container is unknown or does not run */
export function runningContainer(
  { view, defaultContainerKey }: Pick<StreamUrlDeps, 'view' | 'defaultContainerKey'>,
  { pod }: PodEntry,
  name: string | undefined,
): Running {
  const spec = chooseContainer(pod, name ?? '', defaultContainerKey);
  const { containers } = view.pod(podIdentity(pod).uid);
  const container = containers.find((candidate) => candidate.name === spec.name);
  if (container?.state === 'running') return { id: container.id, spec };
  throw new StatusError('BadRequest', `container ${spec.name} is not running`);
}
