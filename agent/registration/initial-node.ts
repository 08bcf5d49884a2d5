/** The Node object that the agent registers, and what a node that was there before gets of it. Pure.
 *  Source: upstream's node registration, release 1.24. */
import type { Node, NodeSpec, Taint } from '#api/schema/gen/core-v1.ts';
import { isExtendedResource } from '../resources/devices/resource-name.ts';
import type { ResourceList } from './resources.ts';
import type { NodeWords } from './words.ts';

export interface NodeIdentityRules {
  readonly words: NodeWords;
  readonly nodeName: string;
  /** Value of the hostname label. */
  readonly hostname: string;
  /** As Go names it. */
  readonly architecture: string;
  /** `--node-labels`; these go before the agent's own. */
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly schedulable: boolean;
  readonly providerID: string;
  /** Whether a provider outside makes the node complete before pods may come. */
  readonly externalProvider: boolean;
  /** The node's address as the user wished it; empty if he didn't. */
  readonly wishedIP: string;
  readonly controllerAttaches: boolean;
  readonly keepsVolumes: boolean;
}

/** Taints of a new node. A cordoned one has its taint from the start, or pods would come before a controller sets it. */
function initialTaints({
  words,
  taints,
  schedulable,
  externalProvider,
}: NodeIdentityRules): readonly Taint[] {
  const added: readonly Taint[] = [
    ...(schedulable ? [] : [{ key: words.taintUnschedulable, effect: 'NoSchedule' as const }]),
    ...(externalProvider
      ? [{ key: words.taintUninitialized, value: 'true', effect: 'NoSchedule' as const }]
      : []),
  ];
  const isNew = ({ key, effect }: Taint): boolean =>
    !taints.some((taint) => taint.key === key && taint.effect === effect);
  return [...taints, ...added.filter(isNew)];
}

/** The node without its status. */
export function initialNode(rules: NodeIdentityRules): Node {
  const { words, nodeName, hostname, architecture, schedulable, providerID } = rules;
  const labels = {
    [words.labelBetaArch]: architecture,
    [words.labelBetaOS]: 'linux',
    [words.labelArch]: architecture,
    [words.labelHostname]: hostname,
    [words.labelOS]: 'linux',
    ...rules.labels,
  };
  const annotations = {
    ...(rules.controllerAttaches ? { [words.annotationControllerAttaches]: 'true' } : {}),
    ...(rules.keepsVolumes ? { [words.annotationKeepsVolumes]: 'true' } : {}),
    ...(rules.externalProvider && rules.wishedIP !== ''
      ? { [words.annotationProvidedIP]: rules.wishedIP }
      : {}),
  };
  const taints = initialTaints(rules);
  const spec: NodeSpec = {
    ...(schedulable ? {} : { unschedulable: true }),
    ...(providerID === '' ? {} : { providerID }),
    ...(taints.length === 0 ? {} : { taints }),
  };
  return { apiVersion: 'v1', kind: 'Node', metadata: { name: nodeName, labels, annotations }, spec };
}

/** A node that was there before, with what follows the machine and the agent: default labels, the annotation that
 *  says who attaches volumes. Of `--node-labels` only well-known ones reach it; taints, other labels and whatever others
 *  wrote stay as they are: they are the administrator's since the node was registered. */
export function adoptNode(existing: Node, initial: Node, words: NodeWords): Node {
  const { metadata = {} } = existing;
  const labels: Record<string, string> = { ...metadata.labels };
  for (const key of words.reconciledLabels) {
    const value = initial.metadata?.labels?.[key];
    if (value === undefined) continue;
    if (value === '') delete labels[key];
    else labels[key] = value;
  }
  const annotations: Record<string, string> = { ...metadata.annotations };
  const key = words.annotationControllerAttaches;
  const attaches = initial.metadata?.annotations?.[key];
  if (attaches === undefined) delete annotations[key];
  else annotations[key] = attaches;
  return { ...existing, metadata: { ...metadata, labels, annotations } };
}

/** The node as it is when nobody knows of devices that it told of: none of them are there until their plugins are.
 *  Source: upstream, which resets them where its checkpoint is lost, release 1.24.
 *  @param domain whose resources are the platform's own */
export function withoutExtended(node: Node, domain: string): Node {
  const reset = (list: ResourceList): ResourceList =>
    Object.fromEntries(
      Object.entries(list).map(([name, amount]) => [name, isExtendedResource(name, domain) ? '0' : amount]),
    );
  const { capacity, allocatable } = node.status ?? {};
  return {
    ...node,
    status: {
      ...node.status,
      ...(capacity === undefined ? {} : { capacity: reset(capacity) }),
      ...(allocatable === undefined ? {} : { allocatable: reset(allocatable) }),
    },
  };
}
