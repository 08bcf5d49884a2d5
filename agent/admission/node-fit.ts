/** Fit of an API server's pod with this node. Pure.
 *  Source: upstream 1.24, admission on the node: operating system, node affinity, taints. */
import type { NodeSelectorTerm, Pod, Taint, Toleration } from '#api/gen/core-v1.ts';
import type { Refusal } from './admit.ts';

/** Node facts for the admission of pods. */
export interface NodeTraits {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  /** Key of the operating system label. */
  readonly osLabel: string;
  /** Whether the operating system of a pod counts: the feature gate IdentifyPodOS. */
  readonly identifiesOS: boolean;
}

const OS = 'linux';

type Requirement = NonNullable<NodeSelectorTerm['matchExpressions']>[number];

function holds({ key, operator, values = [] }: Requirement, labels: NodeTraits['labels']): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Gt':
      return value !== undefined && Number(value) > Number(values[0]);
    case 'Lt':
      return value !== undefined && Number(value) < Number(values[0]);
    default:
      return operator satisfies never;
  }
}

/** A term without requirements matches no node. */
function meets(node: NodeTraits, { matchExpressions = [], matchFields = [] }: NodeSelectorTerm): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  return (
    matchExpressions.every((one) => holds(one, node.labels)) &&
    matchFields.every((one) => holds(one, { 'metadata.name': node.name }))
  );
}

function isWantedHere({ spec }: Pod, node: NodeTraits): boolean {
  const selector = Object.entries(spec?.nodeSelector ?? {});
  if (selector.some(([key, value]) => node.labels[key] !== value)) return false;
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || required.nodeSelectorTerms.some((term) => meets(node, term));
}

/** Reports whether the toleration matches the taint.
 *  @see upstream: an empty key with `Exists` matches every taint, an empty effect every effect */
export function tolerates(
  { key = '', operator = 'Equal', value = '', effect }: Toleration,
  taint: Taint,
): boolean {
  if (effect !== undefined && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  return operator === 'Exists' || (key !== '' && value === (taint.value ?? ''));
}

/** Returns why the pod does not fit this node; undefined when it does. */
export function misplacement(pod: Pod, node: NodeTraits): Refusal | undefined {
  const os = node.identifiesOS ? pod.spec?.os?.name : undefined;
  if (os !== undefined && os !== OS) {
    return {
      reason: 'PodOSNotSupported',
      message: `Pod was rejected: it is for ${os}, and this node runs ${OS}`,
    };
  }
  const selected = pod.spec?.nodeSelector?.[node.osLabel];
  if (selected !== undefined && selected !== OS) {
    return {
      reason: 'PodOSSelectorNodeLabelDoesNotMatch',
      message: `Pod was rejected: it selects nodes that run ${selected}, and this one runs ${OS}`,
    };
  }
  if (!isWantedHere(pod, node)) {
    return {
      reason: 'NodeAffinity',
      message: 'Pod was rejected: its node selector or its node affinity does not match this node',
    };
  }
  const taint = node.taints.find(
    (one) =>
      one.effect === 'NoExecute' && !(pod.spec?.tolerations ?? []).some((each) => tolerates(each, one)),
  );
  if (taint === undefined) return undefined;
  return {
    reason: 'TaintToleration',
    message: `Pod was rejected: it does not tolerate the taint ${taint.key} of this node`,
  };
}
