/** CRI messages of records, and the filters of lists. Pure. */
import type {
  Container,
  ContainerFilter,
  ContainerState,
  ContainerStatus,
  PodSandbox,
  PodSandboxFilter,
  PodSandboxStatus,
} from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import type { ContainerPhase, ContainerRecord, SandboxRecord } from '../state/records.ts';

type Labels = Readonly<Record<string, string>>;

const STATES: Readonly<Record<ContainerPhase, ContainerState>> = {
  created: 'CONTAINER_CREATED',
  running: 'CONTAINER_RUNNING',
  exited: 'CONTAINER_EXITED',
};

const sandboxState = ({ isReady }: SandboxRecord): PodSandbox['state'] =>
  isReady ? 'SANDBOX_READY' : 'SANDBOX_NOTREADY';

export function viewSandbox(record: SandboxRecord): MessageInput<PodSandbox> {
  const { id, createdAtNs, note } = record;
  const { metadata, labels, annotations } = note.config;
  return {
    id,
    metadata,
    state: sandboxState(record),
    createdAt: createdAtNs,
    labels,
    annotations,
    runtimeHandler: note.runtimeHandler,
  };
}

export function viewSandboxStatus(record: SandboxRecord): MessageInput<PodSandboxStatus> {
  const [ip = '', ...others] = record.addresses;
  const options = record.note.config.linux?.securityContext?.namespaceOptions;
  return {
    ...viewSandbox(record),
    network: { ip, additionalIps: others.map((other) => ({ ip: other })) },
    linux: { namespaces: { options } },
  };
}

/** @param imageRef reference of the image of the container */
export function viewContainer(record: ContainerRecord, imageRef: string): MessageInput<Container> {
  const { id, note, phase, createdAtNs, imageId } = record;
  const { metadata, image, labels, annotations } = note.config;
  return {
    id,
    podSandboxId: note.sandboxId,
    metadata,
    image,
    imageRef,
    imageId,
    state: STATES[phase],
    createdAt: createdAtNs,
    labels,
    annotations,
  };
}

/** @param imageRef reference of the image of the container */
export function viewContainerStatus(
  record: ContainerRecord,
  imageRef: string,
): MessageInput<ContainerStatus> {
  const { id, note, phase, imageId } = record;
  const { metadata, image, labels, annotations, mounts, linux } = note.config;
  return {
    id,
    metadata,
    state: STATES[phase],
    createdAt: record.createdAtNs,
    startedAt: record.startedAtNs,
    finishedAt: record.finishedAtNs,
    exitCode: record.exitCode,
    reason: record.reason,
    message: record.message,
    image,
    imageRef,
    imageId,
    labels,
    annotations,
    mounts,
    logPath: note.logPath,
    resources: { linux: linux?.resources },
  };
}

const hasLabels = (labels: Labels, wanted: Labels): boolean =>
  Object.entries(wanted).every(([key, value]) => labels[key] === value);

/** Without a filter, all match; all given members must match. */
export function matchesSandbox(record: SandboxRecord, filter: PodSandboxFilter | undefined): boolean {
  if (filter === undefined) return true;
  return (
    (filter.id === '' || filter.id === record.id) &&
    (filter.state === undefined || filter.state.state === sandboxState(record)) &&
    hasLabels(record.note.config.labels, filter.labelSelector)
  );
}

/** Without a filter, all match; all given members must match. */
export function matchesContainer(
  record: ContainerRecord,
  filter: (Omit<ContainerFilter, 'state'> & Partial<Pick<ContainerFilter, 'state'>>) | undefined,
): boolean {
  if (filter === undefined) return true;
  return (
    (filter.id === '' || filter.id === record.id) &&
    (filter.podSandboxId === '' || filter.podSandboxId === record.note.sandboxId) &&
    (filter.state === undefined || filter.state.state === STATES[record.phase]) &&
    hasLabels(record.note.config.labels, filter.labelSelector)
  );
}
