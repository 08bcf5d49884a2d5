/** Responses of the fake about its sandboxes and containers. Pure. */
import type {
  Container,
  ContainerFilter,
  ContainerStats,
  ContainerStatus,
  PodSandbox,
  PodSandboxFilter,
  PodSandboxStatus,
} from '../gen/cri-v1.ts';
import type { MessageInput } from '../message.ts';
import type { FakeContainer } from './container-store.ts';
import type { FakeSandbox } from './pod-store.ts';

const nanoseconds = (ms: number): bigint => BigInt(Math.round(ms)) * 1_000_000n;

export function viewSandbox(sandbox: FakeSandbox): MessageInput<PodSandbox> {
  const { id, config, state, createdAtMs, runtimeHandler } = sandbox;
  const { metadata, labels, annotations } = config;
  return { id, metadata, state, createdAt: nanoseconds(createdAtMs), labels, annotations, runtimeHandler };
}

export function viewSandboxStatus(sandbox: FakeSandbox): MessageInput<PodSandboxStatus> {
  const namespaces = { options: sandbox.config.linux?.securityContext?.namespaceOptions };
  return { ...viewSandbox(sandbox), network: { ip: sandbox.ip }, linux: { namespaces } };
}

export function viewContainer(container: FakeContainer): MessageInput<Container> {
  const { id, sandboxId, config, imageId, state, createdAtMs } = container;
  const { metadata, image, labels, annotations } = config;
  return {
    id,
    podSandboxId: sandboxId,
    metadata,
    image,
    imageRef: imageId,
    state,
    createdAt: nanoseconds(createdAtMs),
    labels,
    annotations,
  };
}

export function viewContainerStatus(
  container: FakeContainer,
  logDirectory: string,
): MessageInput<ContainerStatus> {
  const { id, config, imageId, state, exitCode, reason } = container;
  const { metadata, image, labels, annotations, mounts, logPath } = config;
  return {
    id,
    metadata,
    state,
    createdAt: nanoseconds(container.createdAtMs),
    startedAt: nanoseconds(container.startedAtMs),
    finishedAt: nanoseconds(container.finishedAtMs),
    exitCode,
    image,
    imageRef: imageId,
    reason,
    labels,
    annotations,
    mounts,
    logPath: logPath === '' ? '' : `${logDirectory}/${logPath}`,
  };
}

/** Usage that a test assigned to a container. */
export interface FakeUsage {
  readonly cpuNanoseconds: number;
  readonly memoryBytes: number;
}

export function viewStats(
  container: FakeContainer,
  usage: FakeUsage,
  nowMs: number,
): MessageInput<ContainerStats> {
  const { metadata, labels, annotations } = container.config;
  const timestamp = nanoseconds(nowMs);
  return {
    attributes: { id: container.id, metadata, labels, annotations },
    cpu: { timestamp, usageCoreNanoSeconds: { value: BigInt(usage.cpuNanoseconds) } },
    memory: {
      timestamp,
      workingSetBytes: { value: BigInt(usage.memoryBytes) },
      usageBytes: { value: BigInt(usage.memoryBytes) },
    },
    writableLayer: { timestamp, usedBytes: { value: 0n }, inodesUsed: { value: 0n } },
  };
}

export function matchesSandbox(sandbox: FakeSandbox, filter: PodSandboxFilter | undefined): boolean {
  if (filter === undefined) return true;
  return (
    (filter.id === '' || filter.id === sandbox.id) &&
    (filter.state === undefined || filter.state.state === sandbox.state) &&
    hasLabels(sandbox.config.labels, filter.labelSelector)
  );
}

export function matchesContainer(
  container: FakeContainer,
  filter: (Omit<ContainerFilter, 'state'> & Partial<Pick<ContainerFilter, 'state'>>) | undefined,
): boolean {
  if (filter === undefined) return true;
  return (
    (filter.id === '' || filter.id === container.id) &&
    (filter.podSandboxId === '' || filter.podSandboxId === container.sandboxId) &&
    (filter.state === undefined || filter.state.state === container.state) &&
    hasLabels(container.config.labels, filter.labelSelector)
  );
}

/** Reports whether every selected label matches (CRI, `label_selector` of the filters). */
function hasLabels(
  labels: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(wanted).every(([key, value]) => labels[key] === value);
}
