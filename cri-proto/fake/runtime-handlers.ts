/** Runtime service of the fake: each rpc in terms of the pod store. */
import type { UntypedServiceImplementation } from '@grpc/grpc-js';
import { type Clock, sleep } from '#api/kit/clock.ts';
import type * as cri from '../gen/cri-v1.ts';
import type { FakeContainer } from './container-store.ts';
import { FakeFailure } from './failure.ts';
import type { FaultInjector } from './faults.ts';
import type { ImageStore } from './image-store.ts';
import type { PodStore } from './pod-store.ts';
import { serve } from './serve.ts';
import {
  type FakeUsage,
  matchesContainer,
  matchesSandbox,
  viewContainer,
  viewContainerStatus,
  viewSandbox,
  viewSandboxStatus,
  viewStats,
} from './views.ts';

/** Reaction of a container to the stop signal. */
export type StopBehaviour =
  | { readonly kind: 'exits'; readonly exitCode: number }
  | { readonly kind: 'ignores' };

export interface FakeExecResult {
  readonly exitCode: number;
  readonly stdout?: string;
  readonly stderr?: string;
}

export interface RuntimeHandlerDeps {
  readonly clock: Clock;
  readonly faults: FaultInjector;
  readonly pods: PodStore;
  readonly images: ImageStore;
  readonly stopBehaviour: (containerId: string) => StopBehaviour;
  readonly exec: (
    containerId: string,
    command: readonly string[],
  ) => FakeExecResult | Promise<FakeExecResult>;
  readonly usage: (containerId: string) => FakeUsage;
  readonly conditions: () => readonly cri.RuntimeCondition[];
  readonly streamingUrl: string;
}

export function createRuntimeHandlers(deps: RuntimeHandlerDeps): UntypedServiceImplementation {
  return {
    ...sandboxHandlers(deps),
    ...containerHandlers(deps),
    ...execHandlers(deps),
    ...statHandlers(deps),
  };
}

function sandboxHandlers({ faults, pods }: RuntimeHandlerDeps): UntypedServiceImplementation {
  return {
    runPodSandbox: serve<cri.RunPodSandboxRequest, cri.RunPodSandboxResponse>(
      faults,
      'RunPodSandbox',
      ({ config, runtimeHandler }) => ({ podSandboxId: pods.runSandbox(config, runtimeHandler) }),
    ),
    stopPodSandbox: serve<cri.StopPodSandboxRequest, cri.StopPodSandboxResponse>(
      faults,
      'StopPodSandbox',
      ({ podSandboxId }) => {
        pods.stopSandbox(podSandboxId);
        return {};
      },
    ),
    removePodSandbox: serve<cri.RemovePodSandboxRequest, cri.RemovePodSandboxResponse>(
      faults,
      'RemovePodSandbox',
      ({ podSandboxId }) => {
        pods.removeSandbox(podSandboxId);
        return {};
      },
    ),
    podSandboxStatus: serve<cri.PodSandboxStatusRequest, cri.PodSandboxStatusResponse>(
      faults,
      'PodSandboxStatus',
      ({ podSandboxId }) => ({ status: viewSandboxStatus(pods.sandbox(podSandboxId)) }),
    ),
    listPodSandbox: serve<cri.ListPodSandboxRequest, cri.ListPodSandboxResponse>(
      faults,
      'ListPodSandbox',
      ({ filter }) => ({
        items: pods
          .sandboxes()
          .filter((sandbox) => matchesSandbox(sandbox, filter))
          .map(viewSandbox),
      }),
    ),
  };
}

function containerHandlers(deps: RuntimeHandlerDeps): UntypedServiceImplementation {
  const { faults, pods, images } = deps;
  return {
    createContainer: serve<cri.CreateContainerRequest, cri.CreateContainerResponse>(
      faults,
      'CreateContainer',
      ({ podSandboxId, config }) => {
        pods.sandbox(podSandboxId);
        const reference = config?.image?.image ?? '';
        const image = images.find(reference);
        if (image === undefined) throw new FakeFailure('NotFound', `image "${reference}" not found`);
        return { containerId: pods.createContainer(podSandboxId, config, image.id) };
      },
    ),
    startContainer: serve<cri.StartContainerRequest, cri.StartContainerResponse>(
      faults,
      'StartContainer',
      ({ containerId }) => {
        pods.startContainer(containerId);
        return {};
      },
    ),
    stopContainer: serve<cri.StopContainerRequest, cri.StopContainerResponse>(
      faults,
      'StopContainer',
      async ({ containerId, timeout }) => {
        await stopContainer(deps, pods.container(containerId), Number(timeout) * 1000);
        return {};
      },
    ),
    removeContainer: serve<cri.RemoveContainerRequest, cri.RemoveContainerResponse>(
      faults,
      'RemoveContainer',
      ({ containerId }) => {
        pods.removeContainer(containerId);
        return {};
      },
    ),
    listContainers: serve<cri.ListContainersRequest, cri.ListContainersResponse>(
      faults,
      'ListContainers',
      ({ filter }) => ({
        containers: pods
          .containers()
          .filter((container) => matchesContainer(container, filter))
          .map(viewContainer),
      }),
    ),
    containerStatus: serve<cri.ContainerStatusRequest, cri.ContainerStatusResponse>(
      faults,
      'ContainerStatus',
      ({ containerId }) => {
        const container = pods.container(containerId);
        const { logDirectory } = pods.sandbox(container.sandboxId).config;
        return { status: viewContainerStatus(container, logDirectory) };
      },
    ),
  };
}

/** Sends the stop signal, then kills after the timeout. */
async function stopContainer(
  deps: RuntimeHandlerDeps,
  container: FakeContainer,
  timeoutMs: number,
): Promise<void> {
  if (container.state !== 'CONTAINER_RUNNING') return;
  const behaviour = deps.stopBehaviour(container.id);
  if (timeoutMs > 0 && behaviour.kind === 'exits') {
    deps.pods.exitContainer(container.id, { exitCode: behaviour.exitCode });
    return;
  }
  if (timeoutMs > 0) await sleep(deps.clock, timeoutMs);
  // It may have been removed in the meantime.
  if (deps.pods.containers().some(({ id }) => id === container.id)) {
    deps.pods.exitContainer(container.id, { exitCode: 137 });
  }
}

function execHandlers(deps: RuntimeHandlerDeps): UntypedServiceImplementation {
  const { faults, pods, streamingUrl } = deps;

  function running(containerId: string): FakeContainer {
    const container = pods.container(containerId);
    if (container.state === 'CONTAINER_RUNNING') return container;
    throw new FakeFailure('Unknown', `container is in ${container.state} state`);
  }

  return {
    execSync: serve<cri.ExecSyncRequest, cri.ExecSyncResponse>(faults, 'ExecSync', async (request) => {
      const { id } = running(request.containerId);
      const { exitCode, stdout = '', stderr = '' } = await deps.exec(id, request.cmd);
      return { exitCode, stdout: Buffer.from(stdout), stderr: Buffer.from(stderr) };
    }),
    exec: serve<cri.ExecRequest, cri.ExecResponse>(faults, 'Exec', ({ containerId }) => ({
      url: `${streamingUrl}/exec/${running(containerId).id}`,
    })),
    attach: serve<cri.AttachRequest, cri.AttachResponse>(faults, 'Attach', ({ containerId }) => ({
      url: `${streamingUrl}/attach/${running(containerId).id}`,
    })),
    portForward: serve<cri.PortForwardRequest, cri.PortForwardResponse>(
      faults,
      'PortForward',
      ({ podSandboxId }) => ({ url: `${streamingUrl}/portforward/${pods.sandbox(podSandboxId).id}` }),
    ),
    reopenContainerLog: serve<cri.ReopenContainerLogRequest, cri.ReopenContainerLogResponse>(
      faults,
      'ReopenContainerLog',
      ({ containerId }) => {
        running(containerId);
        return {};
      },
    ),
    updateContainerResources: serve<
      cri.UpdateContainerResourcesRequest,
      cri.UpdateContainerResourcesResponse
    >(faults, 'UpdateContainerResources', ({ containerId }) => {
      const { state } = pods.container(containerId);
      if (state === 'CONTAINER_EXITED') throw new FakeFailure('Unknown', `container is in ${state} state`);
      return {};
    }),
  };
}

function statHandlers(deps: RuntimeHandlerDeps): UntypedServiceImplementation {
  const { faults, pods, clock } = deps;
  const stats = (container: FakeContainer): ReturnType<typeof viewStats> =>
    viewStats(container, deps.usage(container.id), clock.now());
  return {
    version: serve<cri.VersionRequest, cri.VersionResponse>(faults, 'Version', () => ({
      version: '0.1.0',
      runtimeName: 'fake',
      runtimeVersion: '1.0.0',
      runtimeApiVersion: 'v1',
    })),
    status: serve<cri.StatusRequest, cri.StatusResponse>(faults, 'Status', () => ({
      status: { conditions: deps.conditions() },
    })),
    updateRuntimeConfig: serve<cri.UpdateRuntimeConfigRequest, cri.UpdateRuntimeConfigResponse>(
      faults,
      'UpdateRuntimeConfig',
      () => ({}),
    ),
    containerStats: serve<cri.ContainerStatsRequest, cri.ContainerStatsResponse>(
      faults,
      'ContainerStats',
      ({ containerId }) => ({ stats: stats(pods.container(containerId)) }),
    ),
    listContainerStats: serve<cri.ListContainerStatsRequest, cri.ListContainerStatsResponse>(
      faults,
      'ListContainerStats',
      ({ filter }) => ({
        stats: pods
          .containers()
          .filter(
            (container) => container.state === 'CONTAINER_RUNNING' && matchesContainer(container, filter),
          )
          .map(stats),
      }),
    ),
  };
}
