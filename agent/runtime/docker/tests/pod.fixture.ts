/** Pods for tests of the runtime, without an agent. */
import { randomUUID } from 'node:crypto';
import type { CriConnection } from '#cri/client/connection.ts';
import type { ContainerConfig, ContainerStatus, PodSandboxConfig } from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import { eventually } from '../../../../testing/wait.ts';

export interface TestPod {
  readonly podSandboxId: string;
  readonly sandboxConfig: MessageInput<PodSandboxConfig>;
}

export const HOST_NETWORK: MessageInput<PodSandboxConfig> = {
  linux: { securityContext: { namespaceOptions: { network: 'NODE', pid: 'CONTAINER' } } },
};
export const POD_NETWORK: MessageInput<PodSandboxConfig> = {
  linux: { securityContext: { namespaceOptions: { network: 'POD', pid: 'CONTAINER' } } },
};

export async function runPod(
  cri: CriConnection,
  logRoot: string,
  config: MessageInput<PodSandboxConfig> = HOST_NETWORK,
): Promise<TestPod> {
  const uid = randomUUID();
  const sandboxConfig = {
    metadata: { name: `pod-${uid.slice(0, 8)}`, uid, namespace: 'test', attempt: 0 },
    logDirectory: `${logRoot}/${uid}`,
    ...config,
  };
  const { podSandboxId } = await cri.runtime.runPodSandbox({ config: sandboxConfig });
  return { podSandboxId, sandboxConfig };
}

export async function removePod(cri: CriConnection, { podSandboxId }: TestPod): Promise<void> {
  await cri.runtime.stopPodSandbox({ podSandboxId });
  await cri.runtime.removePodSandbox({ podSandboxId });
}

/** Creates a container that runs a script. */
export async function createIn(
  cri: CriConnection,
  { podSandboxId, sandboxConfig }: TestPod,
  script: string,
  config: MessageInput<ContainerConfig> = {},
): Promise<string> {
  const name = `c-${randomUUID().slice(0, 8)}`;
  const { containerId } = await cri.runtime.createContainer({
    podSandboxId,
    sandboxConfig,
    config: {
      metadata: { name, attempt: 0 },
      image: { image: 'local/busybox:1' },
      command: ['sh', '-c', script],
      logPath: `${name}.log`,
      linux: {
        securityContext: { namespaceOptions: sandboxConfig.linux?.securityContext?.namespaceOptions },
      },
      ...config,
    },
  });
  return containerId;
}

export async function startIn(
  cri: CriConnection,
  pod: TestPod,
  script: string,
  config: MessageInput<ContainerConfig> = {},
): Promise<string> {
  const containerId = await createIn(cri, pod, script, config);
  await cri.runtime.startContainer({ containerId });
  return containerId;
}

export async function statusOf(cri: CriConnection, containerId: string): Promise<ContainerStatus> {
  const { status } = await cri.runtime.containerStatus({ containerId });
  if (status === undefined) throw new Error(`container ${containerId} has no status`);
  return status;
}

export async function untilExited(cri: CriConnection, containerId: string): Promise<ContainerStatus> {
  return eventually(
    async () => {
      const status = await statusOf(cri, containerId);
      return status.state === 'CONTAINER_EXITED' ? status : undefined;
    },
    { timeoutMs: 30_000, what: `container ${containerId} has exited` },
  );
}
