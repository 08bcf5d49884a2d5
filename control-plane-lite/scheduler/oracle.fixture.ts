/** Reference implementation of the filters: from the objects themselves, one node at a time, without any
 *  cache. The scheduler's results are compared with it. */
import type { Node, Pod, PodAffinityTerm } from '#api/gen/core-v1.ts';
import { HOST } from './scheduler.fixture.ts';

export interface Placed {
  readonly pod: Pod;
  readonly node: string;
}

/** Amounts in the tests are whole: `500m`, `2`, `3Gi`. */
function amount(text = '0'): number {
  if (text.endsWith('m')) return Number(text.slice(0, -1));
  if (text.endsWith('Gi')) return Number(text.slice(0, -2));
  return Number(text) * 1000;
}

const requests = ({ spec }: Pod, name: string): number =>
  (spec?.containers ?? []).reduce((sum, { resources }) => sum + amount(resources?.requests?.[name]), 0);

const labelsOf = (object: Node | Pod): Readonly<Record<string, string>> => object.metadata?.labels ?? {};

function hasRoom(pod: Pod, node: Node, there: readonly Pod[]): boolean {
  const { allocatable = {} } = node.status ?? {};
  if (there.length + 1 > Number(allocatable['pods'])) return false;
  return ['cpu', 'memory'].every(
    (name) =>
      requests(pod, name) === 0 ||
      there.reduce((sum, other) => sum + requests(other, name), requests(pod, name)) <=
        amount(allocatable[name]),
  );
}

const portsOf = ({ spec }: Pod): readonly number[] =>
  (spec?.containers ?? [])
    .flatMap(({ ports = [] }) => ports.map(({ hostPort = 0 }) => hostPort))
    .filter(Boolean);

const toleratesAll = (pod: Pod, node: Node): boolean =>
  (node.spec?.taints ?? []).every(
    ({ key, effect }) =>
      effect === 'PreferNoSchedule' || (pod.spec?.tolerations ?? []).some((each) => each.key === key),
  );

const selects = (
  selector: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>>,
): boolean => Object.entries(selector).every(([key, value]) => labels[key] === value);

const isAbout = (term: PodAffinityTerm, pod: Pod): boolean =>
  selects(term.labelSelector?.matchLabels ?? {}, labelsOf(pod));

type Kind = 'podAffinity' | 'podAntiAffinity';
const termsOf = ({ spec }: Pod, kind: Kind): readonly PodAffinityTerm[] =>
  spec?.affinity?.[kind]?.requiredDuringSchedulingIgnoredDuringExecution ?? [];

/** Whether both nodes are in the same place. */
const together = (key: string, a: Node, b: Node): boolean =>
  labelsOf(a)[key] !== undefined && labelsOf(a)[key] === labelsOf(b)[key];

interface World {
  readonly nodes: readonly Node[];
  readonly placed: readonly Placed[];
}

function affinityHolds(pod: Pod, node: Node, { nodes, placed }: World): boolean {
  const withNode = placed.flatMap(({ pod: other, node: name }) => {
    const at = nodes.find(({ metadata }) => metadata?.name === name);
    return at === undefined ? [] : [{ other, at }];
  });
  for (const { other, at } of withNode) {
    for (const term of termsOf(other, 'podAntiAffinity')) {
      if (isAbout(term, pod) && together(term.topologyKey, at, node)) return false;
    }
    for (const term of termsOf(pod, 'podAntiAffinity')) {
      if (isAbout(term, other) && together(term.topologyKey, at, node)) return false;
    }
  }
  const near = termsOf(pod, 'podAffinity');
  const friends = withNode.filter(({ other }) => near.every((term) => isAbout(term, other)));
  const friendly = (key: string): boolean => friends.some(({ at }) => together(key, at, node));
  if (near.every(({ topologyKey }) => friendly(topologyKey))) return true;
  // The first pod of a group may be on any node with the topology labels.
  const nobody = friends.every(({ at }) =>
    near.every(({ topologyKey }) => labelsOf(at)[topologyKey] === undefined),
  );
  return (
    nobody &&
    near.every((term) => isAbout(term, pod)) &&
    near.every(({ topologyKey }) => labelsOf(node)[topologyKey] !== undefined)
  );
}

function spreadHolds(pod: Pod, node: Node, { nodes, placed }: World): boolean {
  const hard = (pod.spec?.topologySpreadConstraints ?? []).filter(
    ({ whenUnsatisfiable }) => whenUnsatisfiable === 'DoNotSchedule',
  );
  const eligible = nodes.filter(
    (each) =>
      hard.every(({ topologyKey }) => labelsOf(each)[topologyKey] !== undefined) &&
      selects(pod.spec?.nodeSelector ?? {}, labelsOf(each)),
  );
  return hard.every(({ topologyKey, maxSkew, labelSelector }) => {
    const place = labelsOf(node)[topologyKey];
    if (place === undefined) return false;
    const selector = labelSelector?.matchLabels ?? {};
    const count = (value: string | undefined): number =>
      placed.filter(
        ({ pod: other, node: name }) =>
          other.metadata?.deletionTimestamp === undefined &&
          selects(selector, labelsOf(other)) &&
          eligible.some((each) => each.metadata?.name === name && labelsOf(each)[topologyKey] === value),
      ).length;
    const least = Math.min(...eligible.map((each) => count(labelsOf(each)[topologyKey])));
    const own = selects(selector, labelsOf(pod)) ? 1 : 0;
    return count(place) + own - least <= maxSkew;
  });
}

/** Whether the pod may go to the node. */
export function mayRun(pod: Pod, node: Node, world: World): boolean {
  const name = node.metadata?.name ?? '';
  const there = world.placed.filter((each) => each.node === name).map((each) => each.pod);
  const taken = there.flatMap(portsOf);
  return (
    node.spec?.unschedulable !== true &&
    hasRoom(pod, node, there) &&
    portsOf(pod).every((port) => !taken.includes(port)) &&
    toleratesAll(pod, node) &&
    selects(pod.spec?.nodeSelector ?? {}, labelsOf(node)) &&
    affinityHolds(pod, node, world) &&
    spreadHolds(pod, node, world)
  );
}

/** Label that identifies nodes. */
export const NODE_KEY: string = HOST;
