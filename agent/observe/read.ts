/** Maps CRI responses to observations. Pure. Returns `undefined` for objects of others. */
import type {
  Container,
  ContainerState,
  ContainerStatus,
  PodSandbox,
  PodSandboxStatus,
} from '#cri/gen/cri-v1.ts';
import {
  type Owner,
  ownerSelector,
  parseContainerLabels,
  parseSandboxLabels,
} from '../pod-identity/labels.ts';
import type { ObservedContainer, ObservedContainerState, ObservedSandbox } from './types.ts';

export interface CriReader {
  /** Label selector that matches objects of this agent only. */
  readonly ownerLabels: Readonly<Record<string, string>>;
  sandbox(listed: PodSandbox): ObservedSandbox | undefined;
  sandboxStatus(status: PodSandboxStatus): ObservedSandbox | undefined;
  container(listed: Container): ObservedContainer | undefined;
  /** `known` provides what a status lacks: the sandbox of the container. */
  containerStatus(
    status: ContainerStatus,
    known: ObservedContainer | undefined,
  ): ObservedContainer | undefined;
}

const STATES: Readonly<Record<ContainerState, ObservedContainerState>> = {
  CONTAINER_CREATED: 'created',
  CONTAINER_RUNNING: 'running',
  CONTAINER_EXITED: 'exited',
  CONTAINER_UNKNOWN: 'unknown',
};

const milliseconds = (nanoseconds: bigint): number => Number(nanoseconds / 1_000_000n);

export function createCriReader(owner: Owner): CriReader {
  return {
    ownerLabels: ownerSelector(owner),
    sandbox: (listed) => readSandbox(owner, listed, []),
    sandboxStatus: (status) => readSandbox(owner, status, sandboxIPs(status)),
    container: (listed) => readListed(owner, listed),
    containerStatus: (status, known) => readStatus(owner, status, known),
  };
}

function sandboxIPs({ network }: PodSandboxStatus): readonly string[] {
  const all = [network?.ip ?? '', ...(network?.additionalIps ?? []).map(({ ip }) => ip)];
  return all.filter((ip) => ip !== '');
}

function readSandbox(
  owner: Owner,
  sandbox: PodSandbox | PodSandboxStatus,
  ips: readonly string[],
): ObservedSandbox | undefined {
  const owned = parseSandboxLabels(owner, sandbox.labels);
  if (owned === undefined) return undefined;
  return {
    id: sandbox.id,
    podUID: owned.podUID,
    podNamespace: owned.podNamespace,
    podName: owned.podName,
    attempt: sandbox.metadata?.attempt ?? 0,
    ready: sandbox.state === 'SANDBOX_READY',
    createdAtMs: milliseconds(sandbox.createdAt),
    ips,
  };
}

function readListed(owner: Owner, listed: Container): ObservedContainer | undefined {
  const owned = parseContainerLabels(owner, listed.labels, listed.annotations);
  if (owned === undefined) return undefined;
  return {
    id: listed.id,
    podUID: owned.podUID,
    sandboxId: listed.podSandboxId,
    name: owned.containerName,
    kind: owned.kind,
    attempt: listed.metadata?.attempt ?? 0,
    state: STATES[listed.state],
    createdAtMs: milliseconds(listed.createdAt),
    startedAtMs: 0,
    finishedAtMs: 0,
    exitCode: 0,
    reason: '',
    message: '',
    image: listed.image?.image ?? '',
    imageID: listed.imageRef,
    hash: owned.hash,
    fallsBackToLogs: owned.terminationMessagePolicy === 'FallbackToLogsOnError',
  };
}

function readStatus(
  owner: Owner,
  status: ContainerStatus,
  known: ObservedContainer | undefined,
): ObservedContainer | undefined {
  const owned = parseContainerLabels(owner, status.labels, status.annotations);
  if (owned === undefined) return undefined;
  return {
    id: status.id,
    podUID: owned.podUID,
    sandboxId: known?.sandboxId ?? '',
    name: owned.containerName,
    kind: owned.kind,
    attempt: status.metadata?.attempt ?? 0,
    state: STATES[status.state],
    createdAtMs: milliseconds(status.createdAt),
    startedAtMs: milliseconds(status.startedAt),
    finishedAtMs: milliseconds(status.finishedAt),
    exitCode: status.exitCode,
    reason: status.reason,
    message: status.message,
    image: status.image?.image ?? '',
    imageID: status.imageRef,
    hash: owned.hash,
    fallsBackToLogs: owned.terminationMessagePolicy === 'FallbackToLogsOnError',
  };
}
