/** Labels and annotations that the agent puts on CRI objects, and the way back from them.
 *  They are how a restarted agent knows its own objects: whatever lacks the instance label belongs to someone
 *  else and is never touched. Pure. */
import type { ContainerPort, Lifecycle, LifecycleHandler, Pod } from '#api/schema/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ContainerKind } from '../../observe/types.ts';
import { formatHandler, formatPorts, parseHandler, parsePorts } from './handler-json.ts';

type StringMap = Readonly<Record<string, string>>;

/** Whose objects these are: the words of its keys and the agent's own instance id. */
export interface Owner {
  readonly vocabulary: Pick<Vocabulary, 'criPrefix'>;
  /** Value of the owner label; a valid label value that survives restarts of the agent. */
  readonly instance: string;
  /** By which another agent finds out whether this instance is gone. */
  readonly rootDir?: string;
  readonly node?: string;
}

/** What the labels of a CRI sandbox say. */
export interface SandboxIdentity {
  readonly podUID: string;
  readonly podNamespace: string;
  readonly podName: string;
}

/** What the labels and annotations of a CRI container say. */
export interface ContainerIdentity extends SandboxIdentity {
  readonly containerName: string;
  readonly kind: ContainerKind;
  /** Hash of the container spec that it was made from; see `containerHash`. */
  readonly hash: string;
  readonly restartCount: number;
  /** Empty when the container has none. */
  readonly terminationMessagePath: string;
  readonly terminationMessagePolicy: 'File' | 'FallbackToLogsOnError';
  /** The pod's own, when the container was made; `undefined` when the pod had none. */
  readonly podTerminationGracePeriodSeconds: number | undefined;
  /** Kept so that a pod whose manifest is gone can still be ended properly. */
  readonly preStop: LifecycleHandler | undefined;
  /** For the named ports of `preStop`. */
  readonly ports: readonly ContainerPort[];
}

/** Keys of the labels and annotations in one vocabulary. */
export interface CriKeys {
  readonly podName: string;
  readonly podNamespace: string;
  readonly podUID: string;
  readonly containerName: string;
  readonly instance: string;
  readonly rootDir: string;
  readonly node: string;
  readonly hash: string;
  readonly restartCount: string;
  readonly terminationMessagePath: string;
  readonly terminationMessagePolicy: string;
  readonly kind: string;
  readonly preStop: string;
  readonly ports: string;
  readonly podTerminationGracePeriod: string;
}

/** The keys under `vocabulary.criPrefix`. */
export function criKeys({ criPrefix }: Pick<Vocabulary, 'criPrefix'>): CriKeys {
  return {
    podName: `${criPrefix}.pod.name`,
    podNamespace: `${criPrefix}.pod.namespace`,
    podUID: `${criPrefix}.pod.uid`,
    containerName: `${criPrefix}.container.name`,
    instance: `${criPrefix}.nodeagent.instance`,
    rootDir: `${criPrefix}.nodeagent.rootDir`,
    node: `${criPrefix}.nodeagent.node`,
    hash: `${criPrefix}.container.hash`,
    restartCount: `${criPrefix}.container.restartCount`,
    terminationMessagePath: `${criPrefix}.container.terminationMessagePath`,
    terminationMessagePolicy: `${criPrefix}.container.terminationMessagePolicy`,
    kind: `${criPrefix}.container.kind`,
    preStop: `${criPrefix}.container.preStopHandler`,
    ports: `${criPrefix}.container.ports`,
    podTerminationGracePeriod: `${criPrefix}.pod.terminationGracePeriod`,
  };
}

function identityLabels(owner: Owner, pod: Pod): Record<string, string> {
  const keys = criKeys(owner.vocabulary);
  return {
    [keys.podName]: pod.metadata?.name ?? '',
    [keys.podNamespace]: pod.metadata?.namespace ?? '',
    [keys.podUID]: pod.metadata?.uid ?? '',
    [keys.instance]: owner.instance,
  };
}

/** Labels of a sandbox: the pod's, and ours over them. */
export function sandboxLabels(owner: Owner, pod: Pod): StringMap {
  return { ...pod.metadata?.labels, ...identityLabels(owner, pod) };
}

/** Annotations of a sandbox: the pod's, which some runtimes act on, and where its agent instance is at home. */
export function sandboxAnnotations({ vocabulary, rootDir, node }: Owner, pod: Pod): StringMap {
  const keys = criKeys(vocabulary);
  return {
    ...pod.metadata?.annotations,
    ...(rootDir === undefined ? {} : { [keys.rootDir]: rootDir }),
    ...(node === undefined ? {} : { [keys.node]: node }),
  };
}

/** The label selector that lists the agent's own objects, for CRI list filters. */
export function ownerSelector(owner: Owner): StringMap {
  return { [criKeys(owner.vocabulary).instance]: owner.instance };
}

/** Labels of a container. */
export function containerLabels(owner: Owner, pod: Pod, containerName: string): StringMap {
  return { ...identityLabels(owner, pod), [criKeys(owner.vocabulary).containerName]: containerName };
}

/** What goes into a container's annotations beside its pod's. */
export interface ContainerFacts {
  readonly kind: ContainerKind;
  readonly hash: string;
  readonly attempt: number;
  readonly terminationMessagePath?: string | undefined;
  readonly terminationMessagePolicy?: 'File' | 'FallbackToLogsOnError' | undefined;
  readonly lifecycle?: Lifecycle | undefined;
  readonly ports?: readonly ContainerPort[] | undefined;
}

/** Annotations of a container, from which `parseContainerLabels` reads everything back. */
export function containerAnnotations(owner: Owner, pod: Pod, facts: ContainerFacts): StringMap {
  const keys = criKeys(owner.vocabulary);
  const graceSeconds = pod.spec?.terminationGracePeriodSeconds;
  const preStop = facts.lifecycle?.preStop;
  const ports = facts.ports ?? [];
  return {
    [keys.kind]: facts.kind,
    [keys.hash]: facts.hash,
    [keys.restartCount]: String(facts.attempt),
    [keys.terminationMessagePath]: facts.terminationMessagePath ?? '',
    [keys.terminationMessagePolicy]: facts.terminationMessagePolicy ?? 'File',
    ...(graceSeconds === undefined ? {} : { [keys.podTerminationGracePeriod]: String(graceSeconds) }),
    ...(preStop === undefined ? {} : { [keys.preStop]: formatHandler(preStop) }),
    ...(ports.length === 0 ? {} : { [keys.ports]: formatPorts(ports) }),
  };
}

/** Whose sandbox it is; `undefined` when it isn't one of this agent instance. */
export function parseSandboxLabels(owner: Owner, labels: StringMap): SandboxIdentity | undefined {
  const keys = criKeys(owner.vocabulary);
  if (labels[keys.instance] !== owner.instance) return undefined;
  const podUID = labels[keys.podUID] ?? '';
  const podName = labels[keys.podName] ?? '';
  const podNamespace = labels[keys.podNamespace] ?? '';
  if (podUID === '' || podName === '' || podNamespace === '') return undefined;
  return { podUID, podNamespace, podName };
}

/** Whose container it is; `undefined` when it isn't one of this agent instance.
 *  A damaged annotation reads as its default: the container is ours by its labels all the same. */
export function parseContainerLabels(
  owner: Owner,
  labels: StringMap,
  annotations: StringMap,
): ContainerIdentity | undefined {
  const keys = criKeys(owner.vocabulary);
  const pod = parseSandboxLabels(owner, labels);
  const containerName = labels[keys.containerName] ?? '';
  if (pod === undefined || containerName === '') return undefined;
  const fallback = annotations[keys.terminationMessagePolicy] === 'FallbackToLogsOnError';
  return {
    ...pod,
    containerName,
    kind: parseKind(annotations[keys.kind]),
    hash: annotations[keys.hash] ?? '',
    restartCount: parseCount(annotations[keys.restartCount]) ?? 0,
    terminationMessagePath: annotations[keys.terminationMessagePath] ?? '',
    terminationMessagePolicy: fallback ? 'FallbackToLogsOnError' : 'File',
    podTerminationGracePeriodSeconds: parseCount(annotations[keys.podTerminationGracePeriod]),
    preStop: parseHandler(annotations[keys.preStop]),
    ports: parsePorts(annotations[keys.ports]),
  };
}

const parseKind = (text: string | undefined): ContainerKind =>
  text === 'init' || text === 'ephemeral' ? text : 'app';

const parseCount = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,12}$/.test(text) ? Number(text) : undefined;
