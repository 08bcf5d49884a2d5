/** Calls of the runtime that last are waits of the agent. Pulls, streams and calls that run programs are left out: they
 *  take their time. */
import type { Waits } from '#api/kit/waits.ts';
import type { RuntimeService } from '#cri/gen/cri-v1.ts';

/** The same service, whose calls show when they last. */
export function withCallWaits(runtime: RuntimeService, waits: Pick<Waits, 'during'>): RuntimeService {
  const watch =
    <A extends readonly unknown[], R>(name: string, call: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> =>
      waits.during(`answer of the container runtime to ${name}`, call(...args));
  return {
    ...runtime,
    version: watch('version', (...args) => runtime.version(...args)),
    status: watch('status', (...args) => runtime.status(...args)),
    runPodSandbox: watch('runPodSandbox', (...args) => runtime.runPodSandbox(...args)),
    removePodSandbox: watch('removePodSandbox', (...args) => runtime.removePodSandbox(...args)),
    listPodSandbox: watch('listPodSandbox', (...args) => runtime.listPodSandbox(...args)),
    podSandboxStatus: watch('podSandboxStatus', (...args) => runtime.podSandboxStatus(...args)),
    createContainer: watch('createContainer', (...args) => runtime.createContainer(...args)),
    startContainer: watch('startContainer', (...args) => runtime.startContainer(...args)),
    removeContainer: watch('removeContainer', (...args) => runtime.removeContainer(...args)),
    listContainers: watch('listContainers', (...args) => runtime.listContainers(...args)),
    containerStatus: watch('containerStatus', (...args) => runtime.containerStatus(...args)),
  };
}
