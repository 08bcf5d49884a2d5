/** Reports long runtime calls as waits of the agent. Calls with an end of their own, such as the grace period or a
 *  program in a container, are excluded. */
import { NO_RESPONSE, type Waits } from '#api/kit/waits.ts';
import type { ImageService, RuntimeService } from '#cri/gen/cri-v1.ts';

/** Excluded calls, with the reason. */
export const UNHURRIED_CALLS = {
  stopContainer: 'a container may take its whole grace period',
  execSync: 'a program runs, with a time limit of its own',
  exec: 'opens a stream for a client, who waits',
  attach: 'opens a stream for a client, who waits',
  portForward: 'opens a stream for a client, who waits',
} as const;

const describe = (name: string): string => `response of the container runtime to ${name}`;

type Watch = <A extends readonly unknown[], R>(
  name: string,
  call: (...args: A) => Promise<R>,
) => (...args: A) => Promise<R>;

const watchBy =
  (waits: Pick<Waits, 'during'>): Watch =>
  (name, call) =>
  (...args) =>
    waits.during(describe(name), call(...args), NO_RESPONSE);

/** Wraps the service so that its long calls are reported. */
export function withCallWaits(runtime: RuntimeService, waits: Pick<Waits, 'during'>): RuntimeService {
  const watch = watchBy(waits);
  return {
    ...runtime,
    version: watch('version', (...args) => runtime.version(...args)),
    status: watch('status', (...args) => runtime.status(...args)),
    runPodSandbox: watch('runPodSandbox', (...args) => runtime.runPodSandbox(...args)),
    stopPodSandbox: watch('stopPodSandbox', (...args) => runtime.stopPodSandbox(...args)),
    removePodSandbox: watch('removePodSandbox', (...args) => runtime.removePodSandbox(...args)),
    listPodSandbox: watch('listPodSandbox', (...args) => runtime.listPodSandbox(...args)),
    podSandboxStatus: watch('podSandboxStatus', (...args) => runtime.podSandboxStatus(...args)),
    createContainer: watch('createContainer', (...args) => runtime.createContainer(...args)),
    startContainer: watch('startContainer', (...args) => runtime.startContainer(...args)),
    removeContainer: watch('removeContainer', (...args) => runtime.removeContainer(...args)),
    listContainers: watch('listContainers', (...args) => runtime.listContainers(...args)),
    containerStatus: watch('containerStatus', (...args) => runtime.containerStatus(...args)),
    updateContainerResources: watch('updateContainerResources', (...args) =>
      runtime.updateContainerResources(...args),
    ),
    updatePodSandboxResources: watch('updatePodSandboxResources', (...args) =>
      runtime.updatePodSandboxResources(...args),
    ),
    updateRuntimeConfig: watch('updateRuntimeConfig', (...args) => runtime.updateRuntimeConfig(...args)),
    runtimeConfig: watch('runtimeConfig', (...args) => runtime.runtimeConfig(...args)),
    reopenContainerLog: watch('reopenContainerLog', (...args) => runtime.reopenContainerLog(...args)),
    checkpointContainer: watch('checkpointContainer', (...args) => runtime.checkpointContainer(...args)),
    containerStats: watch('containerStats', (...args) => runtime.containerStats(...args)),
    listContainerStats: watch('listContainerStats', (...args) => runtime.listContainerStats(...args)),
    podSandboxStats: watch('podSandboxStats', (...args) => runtime.podSandboxStats(...args)),
    listPodSandboxStats: watch('listPodSandboxStats', (...args) => runtime.listPodSandboxStats(...args)),
    listMetricDescriptors: watch('listMetricDescriptors', (...args) =>
      runtime.listMetricDescriptors(...args),
    ),
    listPodSandboxMetrics: watch('listPodSandboxMetrics', (...args) =>
      runtime.listPodSandboxMetrics(...args),
    ),
  };
}

/** The same service, whose calls show when they last. A pull is named by its image. */
export function withImageWaits(images: ImageService, waits: Pick<Waits, 'during'>): ImageService {
  const watch = watchBy(waits);
  return {
    ...images,
    listImages: watch('listImages', (...args) => images.listImages(...args)),
    imageStatus: watch('imageStatus', (...args) => images.imageStatus(...args)),
    removeImage: watch('removeImage', (...args) => images.removeImage(...args)),
    imageFsInfo: watch('imageFsInfo', (...args) => images.imageFsInfo(...args)),
    pullImage: (request, options) =>
      waits.during(
        `image ${request.image?.image ?? ''} to be pulled`,
        images.pullImage(request, options),
        'the runtime has not finished',
      ),
  };
}
