/** Disruption controller: maintains the status of PodDisruptionBudgets, on which evictions rely. */

import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from '#api/gen/policy-v1.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { Resource } from '../../resources/contract.ts';
import type { ResourceRegistry } from '../../resources/registry.ts';
import { typed } from '../../resources/view.ts';
import type { Children } from '../workloads-kit/children.ts';
import { type ControllerClient, createControllerClient, refOf } from '../workloads-kit/controller-base.ts';
import { findResource, type WorkloadDeps } from '../workloads-kit/deps.ts';
import type { PodFacts } from '../workloads-kit/pod-facts.ts';
import { createKeyLoop, type KeyLoop } from '../workloads-kit/run-keys.ts';
import { sameStatus } from '../workloads-kit/same-status.ts';
import { changeObject } from '../workloads-kit/write-status.ts';
import { type Budget, type Budgets, followBudgets } from './budgets.ts';
import {
  budgetStatus,
  countHealthy,
  decideDisruptions,
  expectPods,
  failedStatus,
  type Observed,
} from './decide.ts';
import { findScaler, ScaleError } from './scalers.ts';

export interface DisruptionShared {
  /** The index that controllers share. */
  readonly pods: Children<PodFacts>;
  readonly registry: Pick<ResourceRegistry, 'findKind' | 'find'>;
}

interface Parts {
  readonly deps: WorkloadDeps;
  readonly shared: DisruptionShared;
  readonly resource: Resource;
  readonly client: ControllerClient;
  readonly budgets: Budgets;
  readonly loop: KeyLoop;
}

interface Computed {
  readonly status: PodDisruptionBudgetStatus;
  readonly recheckMs?: number;
}

const UNMANAGED =
  'Pods that this budget selects have no controller. They are not counted, so that its status may be wrong. To have them counted set ".spec.minAvailable" to a whole number.';

/** @throws ScaleError */
function compute({ shared, deps, client, budgets }: Parts, budget: Budget, observed: Observed): Computed {
  const object = budget.cached.object();
  const { spec = {} } = typed<PodDisruptionBudget>(object);
  const pods = budgets.podsOf(budget);
  if (pods.length === 0) client.events.record(object, 'Normal', 'NoPods', 'No matching pods found');
  const scalers = { registry: shared.registry, cache: deps.cache };
  const expectation = expectPods(spec, pods, (pod) => findScaler(scalers, pod));
  if (expectation.unmanaged.length > 0) client.events.record(object, 'Warning', 'UnmanagedPods', UNMANAGED);
  const disruptions = decideDisruptions(observed.before?.disruptedPods, pods, observed.nowMs);
  for (const pod of disruptions.undeleted) {
    const message = `Pod was expected by PDB ${budget.cached.key} to be deleted but it wasn't`;
    client.events.record(pod.cached.object(), 'Warning', 'NotDeleted', message);
  }
  const status = budgetStatus(expectation, countHealthy(pods, disruptions), disruptions, observed);
  const { recheckMs } = disruptions;
  return { status, ...(recheckMs === undefined ? {} : { recheckMs }) };
}

function computeOrFail(parts: Parts, budget: Budget, observed: Observed): Computed {
  try {
    return compute(parts, budget, observed);
  } catch (thrown) {
    if (!(thrown instanceof ScaleError)) throw thrown;
    const message = `Failed to calculate the number of expected pods: ${thrown.message}`;
    parts.client.events.record(budget.cached.object(), 'Warning', 'CalculateExpectedPodCountFailed', message);
    return { status: failedStatus(observed, thrown.message) };
  }
}

async function visit(parts: Parts, key: string): Promise<number | undefined> {
  const { budgets, deps, client, resource, loop } = parts;
  const budget = budgets.get(key);
  if (budget === undefined) return undefined;
  const { metadata, status: before } = typed<PodDisruptionBudget>(budget.cached.object());
  const observed = { generation: metadata?.generation ?? 0, before, nowMs: deps.clock.now() };
  const { status, recheckMs } = computeOrFail(parts, budget, observed);
  if (sameStatus('policy/v1.PodDisruptionBudgetStatus', status, before)) return recheckMs;
  loop.expect(key);
  const seen = String(budget.cached.revision);
  try {
    await changeObject(
      client,
      refOf(resource, budget.cached),
      metadata?.uid ?? '',
      (draft) => {
        // An eviction has used the budget meanwhile: the computed status is stale.
        if (draft.metadata.resourceVersion !== seen) throw new StatusError('Conflict', `${key} changed`);
        draft['status'] = status;
      },
      'status',
    );
  } catch (thrown) {
    if (thrown instanceof StatusError && thrown.reason === 'Conflict') return 0;
    throw thrown;
  }
  return recheckMs;
}

/** Runs until the signal is aborted. */
export async function runDisruption(
  deps: WorkloadDeps,
  signal: AbortSignal,
  shared: DisruptionShared,
): Promise<void> {
  const resource = findResource(deps, 'policy/v1', 'poddisruptionbudgets');
  if (resource === undefined) return;
  const client = createControllerClient(deps, 'controllermanager', signal);
  const loop = createKeyLoop(deps, (key) => visit(parts, key));
  const budgets = followBudgets(deps.cache.resource(resource.storage), shared.pods, {
    onBudget: (key) => loop.due(key),
    onPod: (key) => loop.dueSoon(key),
  });
  const parts: Parts = { deps, shared, resource, client, budgets, loop };
  await loop.run(signal, budgets);
}
