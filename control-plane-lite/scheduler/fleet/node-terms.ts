/** Evaluates node selectors of pods and volumes. Pure. Source: upstream's node affinity helpers, release
 *  1.24. */
import type { NodeSelectorRequirement, NodeSelectorTerm } from '#api/gen/core-v1.ts';
import type { NodeTerm, PodShape } from './model.ts';

interface Named {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

export const readNodeTerm = ({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm): NodeTerm => ({
  labels: matchExpressions,
  fields: matchFields,
});

const INTEGER = /^[+-]?\d{1,18}$/;

function compares(value: string, bound: string, isRight: (difference: number) => boolean): boolean {
  if (!INTEGER.test(value) || !INTEGER.test(bound)) return false;
  const [left, right] = [BigInt(value), BigInt(bound)];
  return isRight(left < right ? -1 : Number(left > right));
}

function meets({ operator, values = [] }: NodeSelectorRequirement, value: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return value !== undefined && compares(value, values[0] ?? '', (difference) => difference > 0);
    case 'Lt':
      return value !== undefined && compares(value, values[0] ?? '', (difference) => difference < 0);
    default:
      return operator satisfies never;
  }
}

/** An empty term matches no node. */
export function matchesNodeTerm({ labels, fields }: NodeTerm, node: Named): boolean {
  if (labels.length === 0 && fields.length === 0) return false;
  return (
    labels.every((requirement) => meets(requirement, node.labels[requirement.key])) &&
    fields.every((requirement) => requirement.key === 'metadata.name' && meets(requirement, node.name))
  );
}

type Wish = Pick<PodShape, 'nodeSelector' | 'requiredNodeTerms'>;

/** Whether every node will do. */
export const takesAnyNode = ({ nodeSelector, requiredNodeTerms }: Wish): boolean =>
  nodeSelector.length === 0 && requiredNodeTerms === undefined;

/** Whether the node has the labels of the pod's selector and meets its required node affinity. */
export function wantsNode({ nodeSelector, requiredNodeTerms }: Wish, node: Named): boolean {
  for (const [key, value] of nodeSelector) {
    if (node.labels[key] !== value) return false;
  }
  return requiredNodeTerms === undefined || requiredNodeTerms.some((term) => matchesNodeTerm(term, node));
}
