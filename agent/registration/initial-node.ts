/** Initial Node object of the agent, and its merge into an existing node. Pure.
 *  Source: upstream's node registration, release 1.24. */
import type { Node, NodeSpec, Taint } from '#api/gen/core-v1.ts';
import { isExtendedResource } from '#api/meta/extended-resource.ts';
import type { ResourceList } from '../machine/capacity.ts';
import type { NodeNames } from './node-names.ts';

export interface NodeIdentityRules {
  readonly names: NodeNames;
  readonly nodeName: string;
  /** Value of the hostname label. */
  readonly hostname: string;
  /** In Go's spelling. */
  readonly architecture: string;
  /** `--node-labels`; they override the agent's own. */
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly schedulable: boolean;
  readonly providerID: string;
  /** Whether an external cloud provider must initialize the node before it accepts pods. */
  readonly externalProvider: boolean;
  /** Requested node address; empty if none is configured. */
  readonly requestedIP: string;
  readonly controllerAttaches: boolean;
  readonly keepsVolumes: boolean;
}

/** Taints of a new node. A cordoned one has its taint from the start, as pods could arrive before a
 *  controller sets it. */
function initialTaints({
  names,
  taints,
  schedulable,
  externalProvider,
}: NodeIdentityRules): readonly Taint[] {
  const added: readonly Taint[] = [
    ...(schedulable ? [] : [{ key: names.taintUnschedulable, effect: 'NoSchedule' as const }]),
    ...(externalProvider
      ? [{ key: names.taintUninitialized, value: 'true', effect: 'NoSchedule' as const }]
      : []),
  ];
  const isNew = ({ key, effect }: Taint): boolean =>
    !taints.some((taint) => taint.key === key && taint.effect === effect);
  return [...taints, ...added.filter(isNew)];
}

/** Returns the node without its status. */
export function initialNode(rules: NodeIdentityRules): Node {
  const { names, nodeName, hostname, architecture, schedulable, providerID } = rules;
  const labels = {
    [names.labelBetaArch]: architecture,
    [names.labelBetaOS]: 'linux',
    [names.labelArch]: architecture,
    [names.labelHostname]: hostname,
    [names.labelOS]: 'linux',
    ...rules.labels,
  };
  const annotations = {
    ...(rules.controllerAttaches ? { [names.annotationControllerAttaches]: 'true' } : {}),
    ...(rules.keepsVolumes ? { [names.annotationKeepsVolumes]: 'true' } : {}),
    ...(rules.externalProvider && rules.requestedIP !== ''
      ? { [names.annotationProvidedIP]: rules.requestedIP }
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

/** Returns an existing node with updated default labels and the annotation for the attach-detach controller.
 *  Of `--node-labels` only well-known ones are applied; taints, other labels and everything written by others
 *  stay: they belong to the administrator once the node is registered. */
export function adoptNode(existing: Node, initial: Node, names: NodeNames): Node {
  const { metadata = {} } = existing;
  const labels: Record<string, string> = { ...metadata.labels };
  for (const key of names.reconciledLabels) {
    const value = initial.metadata?.labels?.[key];
    if (value === undefined) continue;
    if (value === '') delete labels[key];
    else labels[key] = value;
  }
  const annotations: Record<string, string> = { ...metadata.annotations };
  const key = names.annotationControllerAttaches;
  const attaches = initial.metadata?.annotations?.[key];
  if (attaches === undefined) delete annotations[key];
  else annotations[key] = attaches;
  return { ...existing, metadata: { ...metadata, labels, annotations } };
}

/** Returns the node with its extended resources set to zero, for an agent without a device checkpoint:
 *  devices exist only once their plugins register again.
 *  Source: upstream, which resets them when its checkpoint is lost, release 1.24.
 *  @param domain whose resources belong to the platform itself */
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
