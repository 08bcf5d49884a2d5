/** Number of replicas that a metric proposes. Pure. Source: upstream's replica calculator, release 1.24. */
import { milliOf, type PodMetrics, type ScaledPod } from './facts.ts';
import { groupPods, type PodGroups, type ReadinessLimits } from './group-pods.ts';

/** A metric does not yield a number of replicas. */
class ProposalError extends Error {
  override readonly name = 'ProposalError';
}

export interface Proposal {
  readonly replicas: number;
  /** Average value of a pod, or the value of the metric, in thousandths. */
  readonly value: bigint;
  /** In percent of the requests. */
  readonly utilization?: number;
}

export interface ProposalLimits extends ReadinessLimits {
  /** Deviation of the ratio from 1 up to which nothing changes. */
  readonly tolerance: number;
}

export interface PodsInput {
  readonly pods: readonly ScaledPod[];
  readonly metrics: PodMetrics;
  /** Current number of replicas. */
  readonly current: number;
  /** Name of the resource; absent: a metric that is none. */
  readonly resource?: string;
  readonly limits: ProposalLimits;
  readonly nowMs: number;
}

/** Values of the pods that count, in thousandths. */
type Values = ReadonlyMap<string, bigint>;

/** How a metric is compared with its target. */
interface Comparison {
  /** Above 1: more replicas. @throws ProposalError */
  readonly ratioOf: (values: Values) => number;
  /** Assumed value of a pod without a metric; `undefined`: it does not count. */
  readonly assume: (pod: string, ratio: number) => bigint | undefined;
}

const MAX_REPLICAS = 2 ** 31 - 1;

const rounded = (replicas: number): number => Math.min(MAX_REPLICAS, Math.ceil(replicas));

const sum = (values: Iterable<bigint>): bigint => [...values].reduce((total, value) => total + value, 0n);

/** With assumed values for the pods without metrics that count. */
function completed(values: Values, groups: PodGroups, ratio: number, assume: Comparison['assume']): Values {
  const all = new Map(values);
  for (const pod of groups.missing) {
    const value = assume(pod, ratio);
    if (value !== undefined) all.set(pod, value);
  }
  if (ratio > 1) for (const pod of groups.unready) all.set(pod, 0n);
  return all;
}

interface Counted {
  readonly groups: PodGroups;
  readonly values: Values;
}

/** @throws ProposalError */
function countPods({ pods, metrics, resource, limits, nowMs }: PodsInput): Counted {
  if (pods.length === 0)
    throw new ProposalError('no pods returned by selector while calculating replica count');
  const groups = groupPods(pods, { ...limits, metrics, isCpu: resource === 'cpu', nowMs });
  const left = new Set([...groups.ignored, ...groups.unready]);
  const counted = [...metrics].filter(([name]) => !left.has(name));
  return { groups, values: new Map(counted.map(([name, { value }]) => [name, value])) };
}

/** @throws ProposalError */
function replicasFor(input: PodsInput, { groups, values }: Counted, comparison: Comparison): number {
  const { current, limits } = input;
  const isClose = (ratio: number): boolean => Math.abs(1 - ratio) <= limits.tolerance;
  const ratio = comparison.ratioOf(values);
  if (groups.missing.length === 0 && (groups.unready.length === 0 || ratio <= 1))
    return isClose(ratio) ? current : rounded(ratio * groups.ready);
  const all = completed(values, groups, ratio, comparison.assume);
  const cautious = comparison.ratioOf(all);
  const turned = (ratio < 1 && cautious > 1) || (ratio > 1 && cautious < 1);
  if (isClose(cautious) || turned) return current;
  const replicas = rounded(cautious * all.size);
  // The number of counted pods must not change the direction either.
  return (cautious < 1 && replicas > current) || (cautious > 1 && replicas < current) ? current : replicas;
}

/** Requests of the pods in thousandths. @throws ProposalError if a container has none */
function requestsOf(pods: readonly ScaledPod[], resource: string, container: string | undefined): Values {
  const requests = new Map<string, bigint>();
  for (const pod of pods) {
    let total = 0n;
    for (const { name, requests: own } of pod.containers) {
      if (container !== undefined && name !== container) continue;
      const request = own[resource];
      if (request === undefined) throw new ProposalError(`missing request for ${resource}`);
      total += milliOf(request);
    }
    requests.set(pod.name, total);
  }
  return requests;
}

interface Utilization {
  readonly ratio: number;
  readonly percent: number;
}

/** @throws ProposalError */
function utilizationOf(values: Values, requests: Values, target: number): Utilization {
  const known = [...values].filter(([pod]) => requests.has(pod));
  const requested = sum(known.map(([pod]) => requests.get(pod) ?? 0n));
  // Without any request there is nothing to compare with.
  if (requested === 0n) throw new ProposalError('no metrics returned matched known pods');
  const percent = Number((sum(known.map(([, value]) => value)) * 100n) / requested);
  return { ratio: percent / target, percent };
}

function checkValues(values: Values): void {
  if (values.size === 0) throw new ProposalError('did not receive metrics for any ready pods');
}

/** Compares the usage of a resource with a percentage of the requests.
 *  @throws ProposalError */
export function proposeByUtilization(
  input: PodsInput & { readonly resource: string; readonly container?: string | undefined },
  target: number,
): Proposal {
  const counted = countPods(input);
  const requests = requestsOf(input.pods, input.resource, input.container);
  const { values } = counted;
  checkValues(values);
  const { percent } = utilizationOf(values, requests, target);
  const replicas = replicasFor(input, counted, {
    ratioOf: (some) => utilizationOf(some, requests, target).ratio,
    assume(pod, ratio) {
      if (ratio === 1) return undefined;
      return ratio > 1 ? 0n : ((requests.get(pod) ?? 0n) * BigInt(Math.max(100, target))) / 100n;
    },
  });
  return { replicas, utilization: percent, value: sum(values.values()) / BigInt(values.size) };
}

/** Compares the average of a pod's metric with a value in thousandths. @throws ProposalError */
export function proposeByAverage(input: PodsInput, target: bigint): Proposal {
  const counted = countPods(input);
  const { values } = counted;
  checkValues(values);
  const averageOf = (some: Values): bigint => sum(some.values()) / BigInt(some.size);
  const replicas = replicasFor(input, counted, {
    ratioOf: (some) => Number(averageOf(some)) / Number(target),
    assume: (_, ratio) => (ratio < 1 ? target : 0n),
  });
  return { replicas, value: averageOf(values) };
}

export interface TotalInput {
  readonly pods: readonly ScaledPod[];
  /** Of the metric, in thousandths. */
  readonly value: bigint;
  readonly current: number;
  readonly tolerance: number;
}

/** Compares a metric of the whole with a value in thousandths. Without replicas neither the pods nor the tolerance
 *  count, so that a target can leave zero. @throws ProposalError */
export function proposeByTotal({ pods, value, current, tolerance }: TotalInput, target: bigint): Proposal {
  const ratio = Number(value) / Number(target);
  if (current === 0) return { replicas: rounded(ratio), value };
  if (Math.abs(1 - ratio) <= tolerance) return { replicas: current, value };
  if (pods.length === 0) {
    const reason = 'no pods returned by selector while calculating replica count';
    throw new ProposalError(`unable to calculate ready pods: ${reason}`);
  }
  const ready = pods.filter(({ phase, ready: is }) => phase === 'Running' && is?.status === 'True').length;
  return { replicas: rounded(ratio * ready), value };
}

/** Compares the share of a pod of such a metric with a value in thousandths.
 *  @param current the observed number of replicas */
export function proposeByShare(value: bigint, target: bigint, current: number, tolerance: number): Proposal {
  const wanted = Number(value) / Number(target);
  const replicas = Math.abs(1 - wanted / current) > tolerance ? rounded(wanted) : current;
  const count = BigInt(Math.max(1, current));
  return { replicas, value: (value + count - 1n) / count };
}
