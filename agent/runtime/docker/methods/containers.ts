/** Methods of containers. */
import { mkdir, stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { asError, hasCode } from '#api/kit/errno.ts';
import type {
  ContainerConfig,
  ContainerStatusRequest,
  ContainerStatusResponse,
  CreateContainerRequest,
  CreateContainerResponse,
  ListContainersRequest,
  ListContainersResponse,
  RemoveContainerRequest,
  ReopenContainerLogRequest,
  StartContainerRequest,
  StopContainerRequest,
  UpdateContainerResourcesRequest,
} from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import { CallRejection } from '#cri/server/rejection.ts';
import { isMissing } from '../client/errors.ts';
import { containerBody } from '../config/container-body.ts';
import { type ContainerNote, containerNoteLabels } from '../config/labels.ts';
import { containerName } from '../config/names.ts';
import { dockerResources } from '../config/resources.ts';
import { securityOptions } from '../config/security.ts';
import { requireSupportedContainer } from '../config/unsupported.ts';
import { type DockerContext, nowNs, requireContainer, requireRunning, requireSandbox } from '../context.ts';
import { createdContainer } from '../state/mirror.ts';
import type { ContainerRecord, SandboxRecord } from '../state/records.ts';
import { processInfo, sandboxKey, supportOf } from './sandboxes.ts';
import { readProfile } from './seccomp.ts';
import { matchesContainer, viewContainer, viewContainerStatus } from './views.ts';

/** Creates missing directories of the host, as other runtimes do; docker rejects them. */
async function createHostPaths({ mounts }: ContainerConfig): Promise<void> {
  for (const { hostPath } of mounts) {
    try {
      await stat(hostPath);
    } catch (thrown) {
      if (!hasCode(thrown, 'ENOENT')) throw thrown;
      await mkdir(hostPath, { recursive: true, mode: 0o755 });
    }
  }
}

function logPathOf(config: ContainerConfig, sandbox: SandboxRecord): string {
  if (config.logPath === '') return '';
  const { logDirectory } = sandbox.note.config;
  const path = isAbsolute(config.logPath) ? config.logPath : join(logDirectory, config.logPath);
  if (isAbsolute(path)) return path;
  throw new CallRejection('InvalidArgument', 'sandbox_config.log_directory: must be an absolute path');
}

/** A container gets the ID of its image even if the name moves on meanwhile. */
async function imageIdOf({ client, images }: DockerContext, reference: string): Promise<string> {
  if (/^sha256:[0-9a-f]{64}$/.test(reference)) return reference;
  const image = await client.image(reference);
  if (image === undefined)
    throw new CallRejection('NotFound', `image ${JSON.stringify(reference)} not found`);
  images.remember(image);
  return image.id;
}

async function createContainer(
  context: DockerContext,
  { podSandboxId, config }: CreateContainerRequest,
): Promise<string> {
  const { client, codec, clock, node, files, mirror } = context;
  if (config?.metadata === undefined) {
    throw new CallRejection('InvalidArgument', 'config.metadata: required value missing');
  }
  requireSupportedContainer(config);
  const sandbox = requireSandbox(context, podSandboxId);
  if (!sandbox.isReady) throw new CallRejection('FailedPrecondition', `sandbox ${podSandboxId} is not ready`);
  const { metadata } = sandbox.note.config;
  if (metadata === undefined)
    throw new CallRejection('FailedPrecondition', `sandbox ${podSandboxId} has no metadata`);
  const note: ContainerNote = {
    kind: 'container',
    sandboxId: podSandboxId,
    config,
    logPath: logPathOf(config, sandbox),
  };
  const imageId = await imageIdOf(context, config.image?.image ?? '');
  await createHostPaths(config);
  const { cgroupDriver, security } = context.daemon();
  const body = containerBody({
    config,
    sandboxId: podSandboxId,
    sandboxConfig: sandbox.note.config,
    runtimeHandler: sandbox.note.runtimeHandler,
    labels: containerNoteLabels(codec, node, note),
    security: await readProfile(securityOptions(config.linux?.securityContext, supportOf(context))),
    resolvConf: files.resolverPath(sandboxKey(node, sandbox.note.config)),
    cgroupDriver,
    selinux: security.has('selinux'),
    lowestOomScore: context.lowestOomScore(),
  });
  const name = containerName(node, podSandboxId, metadata, config.metadata);
  const id = await client.create(name, { ...body, Image: imageId });
  mirror.put(createdContainer(note, id, nowNs(clock), imageId));
  return id;
}

async function startContainer(context: DockerContext, container: ContainerRecord): Promise<void> {
  const { client, clock, logs, mirror } = context;
  const { id, phase } = container;
  if (phase !== 'created') {
    throw new CallRejection('FailedPrecondition', `container ${id} is ${phase}, must be created`);
  }
  await logs.follow(container);
  try {
    await client.start(id);
  } catch (thrown) {
    // Docker records the failure in the container, which has ended with it.
    await mirror.settle(id);
    throw thrown;
  }
  mirror.put({ ...container, phase: 'running', startedAtNs: nowNs(clock) });
}

async function stopContainer({ client, mirror }: DockerContext, id: string, timeoutS: number): Promise<void> {
  try {
    if (timeoutS <= 0) await client.kill(id);
    else await client.stop(id, timeoutS);
  } catch (thrown) {
    if (!isMissing(thrown)) throw asError(thrown);
  }
  await mirror.settle(id);
}

export interface ContainerMethods {
  createContainer(request: CreateContainerRequest): Promise<MessageInput<CreateContainerResponse>>;
  startContainer(request: StartContainerRequest): Promise<object>;
  stopContainer(request: StopContainerRequest): Promise<object>;
  removeContainer(request: RemoveContainerRequest): Promise<object>;
  listContainers(request: ListContainersRequest): Promise<MessageInput<ListContainersResponse>>;
  containerStatus(request: ContainerStatusRequest): Promise<MessageInput<ContainerStatusResponse>>;
  reopenContainerLog(request: ReopenContainerLogRequest): Promise<object>;
  updateContainerResources(request: UpdateContainerResourcesRequest): Promise<object>;
}

export function containerMethods(context: DockerContext): ContainerMethods {
  const { client, images, logs, mirror } = context;

  function find(id: string): ContainerRecord | undefined {
    const record = mirror.get(id);
    return record?.kind === 'container' ? record : undefined;
  }

  return {
    createContainer: async (request) => ({ containerId: await createContainer(context, request) }),
    async startContainer({ containerId }) {
      await startContainer(context, requireContainer(context, containerId));
      return {};
    },
    async stopContainer({ containerId, timeout }) {
      if (find(containerId)?.phase === 'running') await stopContainer(context, containerId, Number(timeout));
      return {};
    },
    async removeContainer({ containerId }) {
      if (find(containerId) === undefined) return {};
      await client.remove(containerId);
      mirror.remove(containerId);
      return {};
    },
    async listContainers({ filter }) {
      const found = mirror.containers().filter((record) => matchesContainer(record, filter));
      for (const { imageId } of found) await images.ensure(imageId);
      return { containers: found.map((record) => viewContainer(record, images.referenceOf(record.imageId))) };
    },
    async containerStatus({ containerId, verbose }) {
      const record = requireContainer(context, containerId);
      await images.ensure(record.imageId);
      const status = viewContainerStatus(record, images.referenceOf(record.imageId));
      return verbose ? { status, info: await processInfo(context, containerId) } : { status };
    },
    async reopenContainerLog({ containerId }) {
      await logs.reopen(requireRunning(context, containerId));
      return {};
    },
    async updateContainerResources({ containerId, linux }) {
      const { phase } = requireContainer(context, containerId);
      if (phase === 'exited')
        throw new CallRejection('FailedPrecondition', `container ${containerId} has exited`);
      await client.update(containerId, dockerResources(linux));
      return {};
    },
  };
}
