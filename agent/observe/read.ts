/** Reads the objects of this agent from the runtime: all of them, with details of changed ones only, or the
 *  status of one. Maps responses to observations; objects of others are `undefined`. */

import { isNotFound } from '#cri/errors.ts';
import type {
  Container,
  ContainerState,
  ContainerStatus,
  PodSandbox,
  PodSandboxStatus,
  RuntimeService,
} from '#cri/gen/cri-v1.ts';
import {
  type Owner,
  ownerSelector,
  parseContainerLabels,
  parseSandboxLabels,
} from '../pod-identity/labels.ts';
import type { Listing, RuntimeView } from './runtime-view.ts';
import type { ObservedContainer, ObservedContainerState, ObservedSandbox } from './types.ts';

interface CriReader {
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

export interface StatusReaderDeps {
  readonly runtime: RuntimeService;
  readonly read: CriReader;
  /** Returns the termination message of an exited container; empty when it has none. Never rejects. */
  readonly terminationMessage: (container: ObservedContainer) => Promise<string>;
}

/** Both return `undefined` when the object is gone or belongs to others. @throws CriError otherwise */
interface StatusReader {
  container(id: string, known: ObservedContainer | undefined): Promise<ObservedContainer | undefined>;
  sandbox(id: string): Promise<ObservedSandbox | undefined>;
  /** Returns the termination message of an exited container; empty when it has none. Never rejects. */
  terminationMessage(container: ObservedContainer): Promise<string>;
}

export function createStatusReader({ runtime, read, terminationMessage }: StatusReaderDeps): StatusReader {
  return {
    async container(id, known) {
      const response = await orGone(runtime.containerStatus({ containerId: id }));
      if (response?.status === undefined) return undefined;
      const seen = read.containerStatus(response.status, known);
      if (seen?.state !== 'exited') return seen;
      return { ...seen, message: (await terminationMessage(seen)) || seen.message };
    },
    terminationMessage,
    async sandbox(id) {
      const response = await orGone(runtime.podSandboxStatus({ podSandboxId: id }));
      return response?.status === undefined ? undefined : read.sandboxStatus(response.status);
    },
  };
}

async function orGone<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (thrown) {
    if (isNotFound(thrown)) return undefined;
    throw thrown;
  }
}

export interface RelistDeps {
  readonly runtime: RuntimeService;
  readonly read: CriReader;
  readonly statuses: StatusReader;
  readonly view: RuntimeView;
}

/** Updates the view from the runtime. @throws CriError when the runtime is unavailable */
export async function relist(deps: RelistDeps, signal: AbortSignal): Promise<void> {
  const mark = deps.view.mark();
  deps.view.replace(await readListing(deps, signal), mark);
}

async function readListing(deps: RelistDeps, signal: AbortSignal): Promise<Listing> {
  const { runtime, read } = deps;
  const filter = { labelSelector: read.ownerLabels };
  const [sandboxes, containers] = await Promise.all([
    runtime.listPodSandbox({ filter }, { signal }),
    runtime.listContainers({ filter }, { signal }),
  ]);
  const ownSandboxes = sandboxes.items.flatMap((item) => read.sandbox(item) ?? []);
  const ownContainers = containers.containers.flatMap((item) => read.container(item) ?? []);
  const complete = await Promise.all(ownContainers.map((listed) => completeContainer(deps, listed)));
  return {
    sandboxes: await Promise.all(ownSandboxes.map((listed) => completeSandbox(deps, listed))),
    containers: complete.filter((container) => container !== undefined),
  };
}

/** Lists lack exit code and times: queries the status of changed containers. Undefined when it is gone. */
async function completeContainer(
  { view, statuses }: RelistDeps,
  listed: ObservedContainer,
): Promise<ObservedContainer | undefined> {
  const known = view.container(listed.id);
  const isComplete = known?.isProvisional !== true;
  if (known !== undefined && isComplete && (known.state === listed.state || known.state === 'exited'))
    return known;
  return statuses.container(listed.id, listed);
}

/** Lists lack addresses: queries the status of new sandboxes. */
async function completeSandbox(
  { view, statuses }: RelistDeps,
  listed: ObservedSandbox,
): Promise<ObservedSandbox> {
  if (!listed.ready || view.sandbox(listed.id) !== undefined) return listed;
  return (await statuses.sandbox(listed.id)) ?? listed;
}
