/** Disruption controller: maintains the status of PodDisruptionBudgets, on which evictions rely. */

import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from '#api/gen/policy-v1.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { Resource } from '../../resources/contract.ts';
import type { ResourceRegistry } from '../../resources/registry.ts';
import { typed } from '../../resources/view.ts';
import { type Controller, defineController } from '../skeleton/declaration.ts';
import { type ControllerClient, refOf } from '../workloads-kit/controller-base.ts';
import type { WorkloadDeps } from '../workloads-kit/deps.ts';
import type { KeyQueue } from '../workloads-kit/run-keys.ts';
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

interface Parts {
  readonly deps: WorkloadDeps;
  readonly registry: Pick<ResourceRegistry, 'findKind' | 'find'>;
  readonly resource: Resource;
  readonly client: ControllerClient;
  readonly budgets: Budgets;
  readonly queue: KeyQueue;
}

interface Computed {
  readonly status: PodDisruptionBudgetStatus;
  readonly recheckMs?: number;
}

const UNMANAGED =
  'Pods that this budget selects have no controller. They are not counted, so that its status may be wrong. To have them counted set ".spec.minAvailable" to a whole number.';

/** @throws ScaleError */
function compute({ registry, deps, client, budgets }: Parts, budget: Budget, observed: Observed): Computed {
  const object = budget.cached.object();
  const { spec = {} } = typed<PodDisruptionBudget>(object);
  const pods = budgets.podsOf(budget);
  if (pods.length === 0) client.events.record(object, 'Normal', 'NoPods', 'No matching pods found');
  const scalers = { registry, cache: deps.cache };
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

async function reconcile(parts: Parts, key: string): Promise<number | undefined> {
  const { budgets, deps, client, resource, queue } = parts;
  const budget = budgets.get(key);
  if (budget === undefined) return undefined;
  const { metadata, status: before } = typed<PodDisruptionBudget>(budget.cached.object());
  const observed = { generation: metadata?.generation ?? 0, before, nowMs: deps.clock.now() };
  const { status, recheckMs } = computeOrFail(parts, budget, observed);
  if (sameStatus('policy/v1.PodDisruptionBudgetStatus', status, before)) return recheckMs;
  queue.expect(key);
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

export const disruptionController: Controller = defineController({
  name: 'disruption',
  identity: 'controllermanager',
  watches: ['poddisruptionbudgets', 'pods'],
  everyKind: { reason: 'reads the scale of the controllers of pods, which may be custom resources' },
  writes: { poddisruptionbudgets: { status: ['status'] } },
  recordsEvents: true,
  start(context) {
    const { client, queue } = context;
    const pods = context.pods();
    const budgets = followBudgets(context.cacheOf('poddisruptionbudgets'), pods, {
      onBudget: (key) => queue.add(key),
      onPod: (key) => queue.addSoon(key),
    });
    const parts: Parts = {
      deps: context,
      registry: context.allKinds(),
      resource: context.resourceOf('poddisruptionbudgets'),
      client,
      budgets,
      queue,
    };
    return { reconcile: (key) => reconcile(parts, key), follows: [budgets] };
  },
});
