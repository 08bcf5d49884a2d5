/** Codec of the labels and annotations of CRI objects.
 *  A restarted agent identifies its own objects by them: objects without its instance label belong to others
 *  and are never touched. Pure. */
import type { ContainerPort, Lifecycle, LifecycleHandler, Pod } from '#api/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ContainerKind } from './container-kind.ts';
import { formatHandler, formatPorts, parseHandler, parsePorts } from './handler-json.ts';

type StringMap = Readonly<Record<string, string>>;

/** Owner of CRI objects: the keys of its vocabulary and its instance ID. */
export interface Owner {
  readonly vocabulary: Pick<Vocabulary, 'criPrefix'>;
  /** Value of the instance label; a valid label value that survives restarts of the agent. */
  readonly instance: string;
  /** Used by other agents to detect that this instance is gone. */
  readonly rootDir?: string;
  readonly node?: string;
}

/** Parsed labels of a CRI sandbox. */
export interface SandboxIdentity {
  readonly podUID: string;
  readonly podNamespace: string;
  readonly podName: string;
}

/** Parsed labels and annotations of a CRI container. */
export interface ContainerIdentity extends SandboxIdentity {
  readonly containerName: string;
  readonly kind: ContainerKind;
  /** Hash of the container spec at creation; see `containerHash`. */
  readonly hash: string;
  readonly restartCount: number;
  /** Empty when the container has none. */
  readonly terminationMessagePath: string;
  readonly terminationMessagePolicy: 'File' | 'FallbackToLogsOnError';
  /** Grace period of the pod at the creation of the container; `undefined` when it had none. */
  readonly podTerminationGracePeriodSeconds: number | undefined;
  /** Stored so that a pod whose manifest is gone can still be terminated properly. */
  readonly preStop: LifecycleHandler | undefined;
  /** For the named ports of `preStop`. */
  readonly ports: readonly ContainerPort[];
}

/** Keys of labels and annotations in one vocabulary. */
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

/** Returns the keys under `vocabulary.criPrefix`. */
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

/** Returns the labels of a sandbox: those of the pod, overridden by those of the agent. */
export function sandboxLabels(owner: Owner, pod: Pod): StringMap {
  return { ...pod.metadata?.labels, ...identityLabels(owner, pod) };
}

/** Returns the annotations of a sandbox: those of the pod, which some runtimes act on, and the location of
 *  its agent instance. */
export function sandboxAnnotations({ vocabulary, rootDir, node }: Owner, pod: Pod): StringMap {
  const keys = criKeys(vocabulary);
  return {
    ...pod.metadata?.annotations,
    ...(rootDir === undefined ? {} : { [keys.rootDir]: rootDir }),
    ...(node === undefined ? {} : { [keys.node]: node }),
  };
}

/** Returns the label selector of the agent's own objects, for CRI list filters. */
export function ownerSelector(owner: Owner): StringMap {
  return { [criKeys(owner.vocabulary).instance]: owner.instance };
}

/** Returns the labels of a container. */
export function containerLabels(owner: Owner, pod: Pod, containerName: string): StringMap {
  return { ...identityLabels(owner, pod), [criKeys(owner.vocabulary).containerName]: containerName };
}

/** Input of the annotations of a container, besides its pod. */
export interface ContainerFacts {
  readonly kind: ContainerKind;
  readonly hash: string;
  readonly attempt: number;
  readonly terminationMessagePath?: string | undefined;
  readonly terminationMessagePolicy?: 'File' | 'FallbackToLogsOnError' | undefined;
  readonly lifecycle?: Lifecycle | undefined;
  readonly ports?: readonly ContainerPort[] | undefined;
}

/** Returns the annotations of a container, the inverse of `parseContainerLabels`. */
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

/** Returns the identity of a sandbox; `undefined` when it does not belong to this agent instance. */
export function parseSandboxLabels(owner: Owner, labels: StringMap): SandboxIdentity | undefined {
  const keys = criKeys(owner.vocabulary);
  if (labels[keys.instance] !== owner.instance) return undefined;
  const podUID = labels[keys.podUID] ?? '';
  const podName = labels[keys.podName] ?? '';
  const podNamespace = labels[keys.podNamespace] ?? '';
  if (podUID === '' || podName === '' || podNamespace === '') return undefined;
  return { podUID, podNamespace, podName };
}

/** Returns the identity of a container; `undefined` when it does not belong to this agent instance.
 *  A damaged annotation reads as its default: the labels alone decide ownership. */
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
