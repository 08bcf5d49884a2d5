/** Pod of a DaemonSet for a node: its tolerations and its node affinity. Pure. Source: upstream's DaemonSet
 *  controller, release 1.24. */
import type { Affinity, NodeSelectorTerm, Pod, PodSpec, Toleration } from '#api/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { typed } from '../../resources/view.ts';
import { matchesNodeTerm, readNodeTerm } from '../../scheduler/fleet/node-terms.ts';
import { tolerates } from '../../scheduler/fleet/tolerations.ts';
import type { NodeFacts } from '../workloads-kit/nodes.ts';
import type { PodFacts } from '../workloads-kit/pod-facts.ts';

const NAME_FIELD = 'metadata.name';

/** Default tolerations of DaemonSet pods in order. */
const ADDED: readonly (readonly [string, 'NoExecute' | 'NoSchedule'])[] = [
  ['not-ready', 'NoExecute'],
  ['unreachable', 'NoExecute'],
  ['disk-pressure', 'NoSchedule'],
  ['memory-pressure', 'NoSchedule'],
  ['pid-pressure', 'NoSchedule'],
  ['unschedulable', 'NoSchedule'],
];

/** The tolerations of the template plus the defaults. */
export function daemonTolerations(
  { tolerations = [], hostNetwork }: Pick<PodSpec, 'tolerations' | 'hostNetwork'>,
  { domain }: Pick<Vocabulary, 'domain'>,
): readonly Toleration[] {
  const added = [
    ...ADDED,
    ...(hostNetwork === true ? [['network-unavailable', 'NoSchedule'] as const] : []),
  ].map(([word, effect]): Toleration => ({ key: `node.${domain}/${word}`, operator: 'Exists', effect }));
  const isAdded = ({ key, effect, operator }: Toleration): boolean =>
    added.some((each) => each.key === key && each.effect === effect && operator === 'Exists');
  return [...tolerations.filter((each) => !isAdded(each)), ...added];
}

/** The affinity of the template, narrowed to one node. */
export function affinityFor(affinity: Affinity | undefined, nodeName: string): Affinity {
  const { requiredDuringSchedulingIgnoredDuringExecution: required, ...preferred } =
    affinity?.nodeAffinity ?? {};
  const terms = required?.nodeSelectorTerms ?? [];
  const matchFields = [{ key: NAME_FIELD, operator: 'In' as const, values: [nodeName] }];
  const narrowed: readonly NodeSelectorTerm[] =
    terms.length === 0 ? [{ matchFields }] : terms.map((term) => ({ ...term, matchFields }));
  return {
    ...affinity,
    nodeAffinity: {
      ...preferred,
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: narrowed },
    },
  };
}

/** The node that a pod runs on or is assigned to. */
export function targetNode({ nodeName, cached }: Pick<PodFacts, 'nodeName' | 'cached'>): string {
  if (nodeName !== '') return nodeName;
  const required = typed<Pod>(cached.object()).spec?.affinity?.nodeAffinity
    ?.requiredDuringSchedulingIgnoredDuringExecution;
  const named = (required?.nodeSelectorTerms ?? [])
    .flatMap(({ matchFields = [] }) => matchFields)
    .find(({ key, operator }) => key === NAME_FIELD && operator === 'In');
  return named?.values?.[0] ?? '';
}

export interface Eligibility {
  /** A missing pod is to be created there. */
  readonly starts: boolean;
  /** An existing pod may stay. */
  readonly stays: boolean;
}

/** Whether the pods of a template belong on a node. `tolerations`: the complete list. */
export function decideEligibility(
  spec: PodSpec,
  tolerations: readonly Toleration[],
  node: NodeFacts,
): Eligibility {
  const none = { starts: false, stays: false };
  if ((spec.nodeName ?? '') !== '' && spec.nodeName !== node.name) return none;
  const wanted = Object.entries(spec.nodeSelector ?? {});
  if (wanted.some(([key, value]) => node.labels[key] !== value)) return none;
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const terms = required?.nodeSelectorTerms;
  if (terms !== undefined && !terms.some((term) => matchesNodeTerm(readNodeTerm(term), node))) return none;
  const untolerated = node.taints.filter(
    (taint) => taint.effect !== 'PreferNoSchedule' && !tolerates(tolerations, taint),
  );
  return {
    starts: untolerated.length === 0,
    stays: untolerated.every(({ effect }) => effect !== 'NoExecute'),
  };
}
