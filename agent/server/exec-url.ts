/** Asks the runtime for an exec session and gives out the address of its streams. */
import { StatusError } from '#api/meta/status-error.ts';
import type { RuntimeService } from '#cri/gen/cri-v1.ts';
import type { RuntimeView } from '../observe/runtime-view.ts';
import { chooseContainer } from '../pods/choose-container.ts';
import { podIdentity } from '../pods/identity.ts';
import type { PodEntry } from '../pods/pod-manager.ts';
import type { ExecQuery } from './local-api.ts';

export interface ExecUrlDeps {
  readonly runtime: Pick<RuntimeService, 'exec'>;
  readonly view: RuntimeView;
  readonly defaultContainerKey: string;
}

/** @throws StatusError when the container is unknown or does not run */
export async function execUrl(deps: ExecUrlDeps, { pod }: PodEntry, query: ExecQuery): Promise<string> {
  const spec = chooseContainer(pod, query.container ?? '', deps.defaultContainerKey);
  const { containers } = deps.view.pod(podIdentity(pod).uid);
  const container = containers.find(({ name }) => name === spec.name);
  if (container?.state !== 'running')
    throw new StatusError('BadRequest', `container ${spec.name} is not running`);
  const { stdin, tty, command } = query;
  const request = { containerId: container.id, cmd: command, tty, stdin, stdout: true, stderr: !tty };
  const { url } = await deps.runtime.exec(request);
  return url;
}
