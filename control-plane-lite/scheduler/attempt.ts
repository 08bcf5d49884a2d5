/** One scheduling attempt for a pod, and its outcome. */
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { WakeEvent } from './filters/filter.ts';
import { type FitFailure, findNode } from './find-node.ts';
import type { Fleet } from './fleet/fleet.ts';
import type { NodeInfo, PodInfo, PodShape } from './fleet/model.ts';
import { formatFailure, NO_NODES } from './messages.ts';
import type { AttemptResult, SchedulerMetrics } from './metrics.ts';
import { type Budget, decidePreemption, type Victims } from './preempt.ts';
import type { SchedulingQueue } from './queue.ts';
import type { Binder } from './write/binder.ts';
import type { Preempt } from './write/preemptor.ts';
import type { Reporter } from './write/reporter.ts';

export interface AttemptDeps {
  readonly fleet: Fleet;
  readonly queue: SchedulingQueue;
  readonly reporter: Reporter;
  readonly binder: Binder;
  readonly random: () => number;
  readonly budgets: () => readonly Budget[];
  readonly preempt: Preempt;
  readonly assumeVolumes: (pod: PodInfo, node: NodeInfo) => void;
  readonly log: Logger;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly metrics?: SchedulerMetrics | undefined;
}

export interface Attempts {
  /** Tries to find a node for a pod that was popped from the queue. */
  readonly run: (pod: PodInfo) => void;
  /** Invalidates cached results, which may no longer hold. */
  fleetChanged(): void;
}

/** Nodes register soon after their server starts: only after this time, in ms, are pods reported as having no
 *  nodes. */
const NO_NODES_AFTER_MS = 3000;

const NODE_ADDED: ReadonlySet<WakeEvent> = new Set(['nodeAdded']);

/** Cached report of the last failed pods. Often many pods of the same shape fail one after the other. */
interface Known {
  readonly message: string;
  readonly wokenBy: ReadonlySet<WakeEvent>;
}

/** Runs and measures attempts; one that fails is reported, and its pod is tried again. */
const measuredRun =
  ({ clock, metrics, log, queue, reporter }: AttemptDeps, decide: (pod: PodInfo) => AttemptResult) =>
  (pod: PodInfo): void => {
    const begunMs = clock.monotonic();
    let result: AttemptResult = 'error';
    try {
      result = decide(pod);
    } catch (thrown) {
      const err = asError(thrown);
      log.error({ err, pod: pod.key }, 'Failed to schedule pod');
      queue.giveBack(pod.key, undefined);
      reporter.report(pod, { reason: 'SchedulerError', message: err.message });
    }
    metrics?.attempted(result, (clock.monotonic() - begunMs) / 1000);
  };

export function createAttempts(deps: AttemptDeps): Attempts {
  const { fleet, queue, reporter, binder, random } = deps;
  const failed = new Map<PodShape, Known>();
  let start = 0;

  function assume(pod: PodInfo, node: NodeInfo): void {
    failed.clear();
    fleet.withdraw(pod.key);
    fleet.addPod(pod, node.name);
    reporter.forget(pod.key);
    if (pod.shape.claims.length > 0) deps.assumeVolumes(pod, node);
    binder.bind(pod, node.name);
  }

  /** Pods of lower priority that were nominated to the node must find another. */
  function clearNominations(pod: PodInfo, { node }: Victims): void {
    for (const other of fleet.nominated(node.name)) {
      if (other.shape.priority >= pod.shape.priority) continue;
      fleet.withdraw(other.key);
      const message = `the room on node ${node.name} is for a pod of higher priority`;
      reporter.report(other, { reason: 'Unschedulable', message, nominatedNodeName: '' });
    }
  }

  function refuse(pod: PodInfo, failure: FitFailure): void {
    const preemption = decidePreemption(pod, fleet, failure, {
      budgets: deps.budgets,
      start: Math.trunc(random() * failure.total),
    });
    const why = formatFailure(failure.total, failure.refusals);
    const { wokenBy } = failure;
    queue.giveBack(pod.key, wokenBy);
    if (preemption.kind === 'victims') {
      const { victims } = preemption;
      failed.clear();
      clearNominations(pod, victims);
      fleet.nominate(pod, victims.node.name);
      reporter.report(pod, {
        reason: 'Unschedulable',
        message: why,
        nominatedNodeName: victims.node.name,
      });
      deps.metrics?.preempted(victims.pods.length);
      void deps.preempt(pod, victims);
      return;
    }
    const message = `${why} ${preemption.message}`;
    if (pod.nominatedNodeName === '') failed.set(pod.shape, { message, wokenBy });
    if (!preemption.keep) fleet.withdraw(pod.key);
    const cleared = !preemption.keep && pod.nominatedNodeName !== '' ? { nominatedNodeName: '' } : {};
    reporter.report(pod, { reason: 'Unschedulable', message, ...cleared });
  }

  function decide(pod: PodInfo): AttemptResult {
    const total = fleet.nodes.length;
    if (total === 0) {
      queue.giveBack(pod.key, NODE_ADDED);
      reporter.report(pod, { reason: 'Unschedulable', message: NO_NODES }, NO_NODES_AFTER_MS);
      return 'unschedulable';
    }
    const known = pod.nominatedNodeName === '' ? failed.get(pod.shape) : undefined;
    if (known !== undefined) {
      queue.giveBack(pod.key, known.wokenBy);
      reporter.report(pod, { reason: 'Unschedulable', message: known.message });
      return 'unschedulable';
    }
    const decision = findNode(pod, fleet, { random, start });
    start = (start + decision.looked) % total;
    if (decision.kind === 'node') assume(pod, decision.node);
    else refuse(pod, decision.failure);
    return decision.kind === 'node' ? 'scheduled' : 'unschedulable';
  }

  return {
    run: measuredRun(deps, decide),
    fleetChanged: () => failed.clear(),
  };
}
