/** Contract of every runtime behind a `CriConnection`, as cases that only need an endpoint: the fake and real
 *  runtimes run the same ones. Each names the rpc of the CRI whose comment it checks (`runtime.v1`
 *  api.proto). */
import { equal, fail, ok, rejects } from 'node:assert/strict';
import { watchRuntimeEvents } from './client/events.ts';
import type { RuntimeEvent } from './client/runtime-event.ts';
import type { ContractContext } from './contract-context.ts';
import { isNotFound } from './errors.ts';

export interface ContractCase {
  /** The rpc, and the checked part of its comment. */
  readonly source: string;
  readonly title: string;
  readonly run: (context: ContractContext) => Promise<void>;
}

const UNKNOWN_ID = 'f'.repeat(64);

const notFound = (error: unknown): boolean => isNotFound(error) || fail(`not a NotFound: ${String(error)}`);
const refused = { name: 'CriError' };

export const SANDBOX_CASES: readonly ContractCase[] = [
  {
    source: 'RunPodSandbox: the sandbox is ready on success',
    title: 'runs a ready sandbox that retains its configuration',
    async run({ cri, runSandbox }) {
      const { podSandboxId, config } = await runSandbox();
      const { status } = await cri.runtime.podSandboxStatus({ podSandboxId });
      equal(status?.state, 'SANDBOX_READY');
      equal(status.id, podSandboxId);
      equal(status.metadata?.name, config.metadata.name);
      equal(status.metadata.uid, config.metadata.uid);
      equal(status.labels['app'], config.labels.app);
      equal(status.annotations['note'], config.annotations.note);
      ok(status.createdAt > 0n);
    },
  },
  {
    source: 'PodSandboxMetadata: name, uid, namespace and attempt identify a sandbox',
    title: 'rejects a second sandbox with the same metadata and accepts the next attempt',
    async run({ cri, runSandbox, adoptSandbox }) {
      const { config } = await runSandbox();
      await rejects(cri.runtime.runPodSandbox({ config }), refused);
      const next = { ...config, metadata: { ...config.metadata, attempt: 1 } };
      adoptSandbox((await cri.runtime.runPodSandbox({ config: next })).podSandboxId);
    },
  },
  {
    source: 'PodSandboxStatus: an error if the sandbox is not present',
    title: 'returns NotFound for the status of an unknown sandbox',
    async run({ cri }) {
      await rejects(cri.runtime.podSandboxStatus({ podSandboxId: UNKNOWN_ID }), notFound);
    },
  },
  {
    source: 'PodSandboxFilter: id, state and label_selector, all of which must match',
    title: 'lists sandboxes by ID, state and labels together',
    async run({ cri, runSandbox }) {
      const { podSandboxId: id, config } = await runSandbox();
      const other = await runSandbox();
      const list = async (filter: object): Promise<readonly string[]> =>
        (await cri.runtime.listPodSandbox({ filter })).items.map((item) => item.id);
      equal(String(await list({ id })), id);
      equal(String(await list({ labelSelector: { app: config.labels.app } })), id);
      equal(String(await list({ id, labelSelector: { app: other.config.labels.app } })), '');
      equal(String(await list({ id, state: { state: 'SANDBOX_NOTREADY' } })), '');
      equal(String(await list({ id, state: { state: 'SANDBOX_READY' } })), id);
    },
  },
  {
    source: 'StopPodSandbox: idempotent; running containers are forcibly terminated',
    title: 'stops a sandbox with its containers, twice',
    async run({ cri, runSandbox, startContainer }) {
      const sandbox = await runSandbox();
      const containerId = await startContainer(sandbox);
      const { podSandboxId } = sandbox;
      await cri.runtime.stopPodSandbox({ podSandboxId });
      await cri.runtime.stopPodSandbox({ podSandboxId });
      const { status } = await cri.runtime.podSandboxStatus({ podSandboxId });
      equal(status?.state, 'SANDBOX_NOTREADY');
      equal((await cri.runtime.containerStatus({ containerId })).status?.state, 'CONTAINER_EXITED');
    },
  },
  {
    source: 'RemovePodSandbox: idempotent; running containers are terminated and removed',
    title: 'removes a sandbox with its running container, twice',
    async run({ cri, runSandbox, startContainer }) {
      const sandbox = await runSandbox();
      const containerId = await startContainer(sandbox);
      const { podSandboxId } = sandbox;
      await cri.runtime.stopPodSandbox({ podSandboxId });
      await cri.runtime.removePodSandbox({ podSandboxId });
      await cri.runtime.removePodSandbox({ podSandboxId });
      await rejects(cri.runtime.podSandboxStatus({ podSandboxId }), notFound);
      await rejects(cri.runtime.containerStatus({ containerId }), notFound);
      await cri.runtime.removePodSandbox({ podSandboxId: UNKNOWN_ID });
    },
  },
];

export const CONTAINER_CASES: readonly ContractCase[] = [
  {
    source: 'CreateContainer: in the sandbox given',
    title: 'rejects a container in an unknown or stopped sandbox, or of an unknown image',
    async run({ cri, runSandbox, containerConfig }) {
      const config = containerConfig();
      const { podSandboxId, config: sandboxConfig } = await runSandbox();
      const create = (request: object): Promise<unknown> =>
        cri.runtime.createContainer({ podSandboxId, config, sandboxConfig, ...request });
      await rejects(create({ podSandboxId: UNKNOWN_ID }), refused);
      await rejects(create({ config: { ...config, image: { image: 'local/none:1' } } }), notFound);
      await cri.runtime.stopPodSandbox({ podSandboxId });
      await rejects(create({}), refused);
    },
  },
  {
    source: 'ContainerState: created, then running, then exited',
    title: 'creates, starts and ends a container with its exit code and times',
    async run({ cri, runSandbox, createContainer, endContainer }) {
      const { containerId, config } = await createContainer(await runSandbox());
      const status = async () => (await cri.runtime.containerStatus({ containerId })).status;
      equal((await status())?.state, 'CONTAINER_CREATED');
      equal((await status())?.startedAt, 0n);
      await cri.runtime.startContainer({ containerId });
      equal((await status())?.state, 'CONTAINER_RUNNING');
      equal((await status())?.finishedAt, 0n);
      await endContainer(containerId, 3);
      const ended = await status();
      equal(ended?.exitCode, 3);
      equal(ended.reason, 'Error');
      ok(ended.finishedAt >= ended.startedAt && ended.startedAt >= ended.createdAt);
      equal(ended.metadata?.name, config.metadata.name);
      equal(ended.labels['app'], config.labels.app);
    },
  },
  {
    source: 'StartContainer: starts the container',
    title: 'rejects starting an unknown, running or exited container',
    async run({ cri, runSandbox, startContainer, endContainer }) {
      await rejects(cri.runtime.startContainer({ containerId: UNKNOWN_ID }), notFound);
      const containerId = await startContainer(await runSandbox());
      await rejects(cri.runtime.startContainer({ containerId }), refused);
      await endContainer(containerId, 0);
      await rejects(cri.runtime.startContainer({ containerId }), refused);
    },
  },
  {
    source: 'StopContainer: idempotent; a timeout of 0 kills at once',
    title: 'kills a container without a grace period, twice',
    async run({ cri, runSandbox, startContainer }) {
      const containerId = await startContainer(await runSandbox());
      await cri.runtime.stopContainer({ containerId, timeout: 0n });
      await cri.runtime.stopContainer({ containerId, timeout: 0n });
      const { status } = await cri.runtime.containerStatus({ containerId });
      equal(status?.state, 'CONTAINER_EXITED');
      equal(status.exitCode, 137);
    },
  },
  {
    source: 'RemoveContainer: idempotent; a running container is forcibly removed',
    title: 'removes a running container, twice',
    async run({ cri, runSandbox, startContainer }) {
      const containerId = await startContainer(await runSandbox());
      await cri.runtime.removeContainer({ containerId });
      await cri.runtime.removeContainer({ containerId });
      await rejects(cri.runtime.containerStatus({ containerId }), notFound);
    },
  },
  {
    source: 'ContainerMetadata: name and attempt identify a container in its sandbox',
    title: 'rejects a second container with the same name and attempt',
    async run({ cri, runSandbox, createContainer }) {
      const sandbox = await runSandbox();
      const { config } = await createContainer(sandbox);
      const { podSandboxId, config: sandboxConfig } = sandbox;
      await rejects(cri.runtime.createContainer({ podSandboxId, config, sandboxConfig }), refused);
      const next = { ...config, metadata: { ...config.metadata, attempt: 1 } };
      await cri.runtime.createContainer({ podSandboxId, config: next, sandboxConfig });
    },
  },
  {
    source: 'ContainerFilter: id, pod_sandbox_id, state and label_selector, all of which must match',
    title: 'lists containers by sandbox, state and labels together',
    async run({ cri, runSandbox, createContainer, startContainer }) {
      const sandbox = await runSandbox();
      const { podSandboxId } = sandbox;
      const created = await createContainer(sandbox);
      const running = await startContainer(sandbox);
      const list = async (filter: object): Promise<readonly string[]> =>
        (await cri.runtime.listContainers({ filter })).containers.map((item) => item.id);
      equal((await list({ podSandboxId })).length, 2);
      equal(String(await list({ podSandboxId, state: { state: 'CONTAINER_RUNNING' } })), running);
      equal(String(await list({ podSandboxId, labelSelector: created.config.labels })), created.containerId);
      equal(String(await list({ id: running, podSandboxId })), running);
      equal(String(await list({ id: running, podSandboxId: UNKNOWN_ID })), '');
    },
  },
];

export const OTHER_CASES: readonly ContractCase[] = [
  {
    source: 'Version: name and version of the runtime and of its API',
    title: 'reports its name and API version',
    async run({ cri }) {
      const version = await cri.runtime.version({});
      ok(version.runtimeName !== '' && version.runtimeVersion !== '');
      equal(version.runtimeApiVersion, 'v1');
      equal(cri.criVersion(), 'v1');
    },
  },
  {
    source: 'RuntimeStatus: RuntimeReady and NetworkReady are required conditions',
    title: 'reports the two required conditions',
    async run({ cri }) {
      const { status } = await cri.runtime.status({});
      const types = status?.conditions.map((condition) => condition.type);
      ok(types?.includes('RuntimeReady') === true && types.includes('NetworkReady'));
      equal(status?.conditions.find((condition) => condition.type === 'RuntimeReady')?.status, true);
    },
  },
  {
    source: 'ExecSync: runs a command in a container',
    title: 'runs a command in a running container and in no other',
    async run({ cri, runSandbox, startContainer, endContainer }) {
      const containerId = await startContainer(await runSandbox());
      const { exitCode } = await cri.runtime.execSync({ containerId, cmd: ['true'], timeout: 10n });
      equal(exitCode, 0);
      const streaming = { containerId, cmd: ['true'], stdout: true };
      ok((await cri.runtime.exec(streaming)).url.startsWith('http'));
      await endContainer(containerId, 0);
      await rejects(cri.runtime.execSync({ containerId, cmd: ['true'], timeout: 10n }), refused);
      await rejects(cri.runtime.exec(streaming), refused);
      await rejects(cri.runtime.execSync({ containerId: UNKNOWN_ID, cmd: ['true'] }), notFound);
    },
  },
  {
    source: 'ReopenContainerLog: an error unless the container runs',
    title: 'reopens the log of a running container only',
    async run({ cri, runSandbox, startContainer, endContainer }) {
      const containerId = await startContainer(await runSandbox());
      await cri.runtime.reopenContainerLog({ containerId });
      await endContainer(containerId, 0);
      await rejects(cri.runtime.reopenContainerLog({ containerId }), refused);
    },
  },
  {
    source: 'UpdateContainerResources: updates the container synchronously',
    title: 'updates the resources of a running container',
    async run({ cri, runSandbox, startContainer }) {
      const containerId = await startContainer(await runSandbox());
      await cri.runtime.updateContainerResources({ containerId, linux: { cpuShares: 512n } });
      const missing = { containerId: UNKNOWN_ID, linux: { cpuShares: 512n } };
      await rejects(cri.runtime.updateContainerResources(missing), notFound);
    },
  },
  {
    source: 'ContainerStats: an error if the container is not present',
    title: 'reports the usage of a running container',
    async run({ cri, runSandbox, startContainer }) {
      const containerId = await startContainer(await runSandbox());
      const { stats } = await cri.runtime.containerStats({ containerId });
      equal(stats?.attributes?.id, containerId);
      const all = await cri.runtime.listContainerStats({ filter: { id: containerId } });
      equal(all.stats.length, 1);
      await rejects(cri.runtime.containerStats({ containerId: UNKNOWN_ID }), notFound);
    },
  },
  {
    source: 'ImageStatus: no image, not an error, if it is not present; RemoveImage: idempotent',
    title: 'reports which images are present, and removing a missing image succeeds',
    async run({ cri, image }) {
      const present = await cri.images.imageStatus({ image: { image } });
      ok(present.image !== undefined && present.image.size > 0n);
      equal((await cri.images.imageStatus({ image: { image: 'local/none:1' } })).image, undefined);
      const { images } = await cri.images.listImages({});
      ok(images.some((candidate) => candidate.id === present.image?.id));
      await cri.images.removeImage({ image: { image: 'local/none:1' } });
    },
  },
  {
    source: 'PullImage: an error if the image is not available',
    title: 'fails to pull an image that does not exist',
    async run({ cri }) {
      await rejects(cri.images.pullImage({ image: { image: 'localhost:1/none:1' } }), refused);
    },
  },
  {
    source: 'ImageFsInfo: the file systems that hold images',
    title: 'reports the usage of its image file system',
    async run({ cri }) {
      const { imageFilesystems } = await cri.images.imageFsInfo({});
      ok(imageFilesystems.length > 0);
    },
  },
  {
    source: 'GetContainerEvents, or its equivalent of the runtime',
    title: 'sends the events of a container from creation to removal after a resync',
    async run({ cri, clock, log, runSandbox, createContainer, endContainer }) {
      const stop = new AbortController();
      const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(20_000)]);
      const events = watchRuntimeEvents(cri, { clock, log, signal });
      const seen = await eventsAfterResync(events, async () => {
        const { containerId } = await createContainer(await runSandbox());
        await cri.runtime.startContainer({ containerId });
        await endContainer(containerId, 5);
        await cri.runtime.removeContainer({ containerId });
        return containerId;
      });
      stop.abort();
      equal(seen.map((event) => event.kind).join(' '), 'created started stopped deleted');
      const stopped = seen.find((event) => event.kind === 'stopped');
      equal(stopped !== undefined && 'exitCode' in stopped ? stopped.exitCode : undefined, 5);
    },
  },
];

/** Returns the events of one container up to its deletion. `live` creates, stops and removes it, and returns
 *  its ID. It is repeated after each further resync, since earlier events may be lost: a runtime may reject
 *  an event method some time after it seemed to accept it. */
async function eventsAfterResync(
  events: AsyncIterable<RuntimeEvent>,
  live: () => Promise<string>,
): Promise<readonly RuntimeEvent[]> {
  let seen: RuntimeEvent[] = [];
  let containerId: string | undefined;
  for await (const event of events) {
    if (event.kind === 'resync') {
      seen = [];
      containerId = await live();
    } else if ('containerId' in event && event.containerId === containerId) {
      seen.push(event);
      if (event.kind === 'deleted') break;
    }
  }
  return seen;
}
