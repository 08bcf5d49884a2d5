/** Enforces ResourceQuotas: usage is charged before the object is stored, so that no two requests spend the
 *  same remainder. Requests that arrive while a quota is being charged are charged together afterwards.
 *  Charges for objects that are not stored in the end are corrected by the controller's next recalculation.
 *  Source: ResourceQuota, document 2 §2.7; upstream's plugin, release 1.24. */
import type { Pod, ResourceQuota } from '#api/gen/core-v1.ts';
import { type Amounts, increaseOf } from '../quota/amounts.ts';
import type { PendingCharges } from '../quota/pending.ts';
import { isInScopes, missingAmounts } from '../quota/pods.ts';
import { concernsKind, usageOf } from '../quota/usage.ts';
import type { ApiObject } from '../resources/contract.ts';
import { typed } from '../resources/view.ts';
import { indexByNamespace } from './by-namespace.ts';
import type { AdmissionPlugin, AdmissionRequest } from './contract.ts';
import type { AdmissionDeps } from './deps.ts';
import { refusal } from './refusal.ts';
import { createBatches } from './resource-quota/batches.ts';
import { type Charge, chargeAll, type QuotaWriter } from './resource-quota/charge.ts';

export interface ResourceQuotaParts {
  readonly write: QuotaWriter;
  readonly pending: Pick<PendingCharges, 'add'>;
}

/** Requests that are charged in one write of a quota. */
const MOST_TOGETHER = 512;

/** Resources whose usage an update can increase. */
const GROWING: ReadonlySet<string> = new Set(['services', 'persistentvolumeclaims']);

const podIn = ({ resource: { info } }: AdmissionRequest, object: ApiObject): Pod | undefined =>
  info.group === '' && info.plural === 'pods' ? typed<Pod>(object) : undefined;

function concerns({ operation, resource: { info }, subresource, object }: AdmissionRequest): boolean {
  if (object === undefined || subresource !== '' || !info.namespaced) return false;
  return operation === 'CREATE' || (info.group === '' && GROWING.has(info.plural));
}

export function createResourceQuotaAdmission(
  { vocabulary, clock, objects }: AdmissionDeps,
  { write, pending }: ResourceQuotaParts,
): AdmissionPlugin {
  const quotasOf = indexByNamespace(objects('', 'resourcequotas'));
  const chargeTogether = createBatches<Charge>((namespace, charges) => chargeAll(write, namespace, charges), {
    most: MOST_TOGETHER,
  });

  /** Quotas that the object counts for. */
  function concerned(request: AdmissionRequest, object: ApiObject): readonly ApiObject[] {
    const pod = podIn(request, object);
    return quotasOf(request.namespace).filter((quota) => {
      const { spec = {}, status } = typed<ResourceQuota>(quota);
      const names = Object.keys(status?.hard ?? {});
      return (
        names.some((name) => concernsKind(request.resource.info, name, vocabulary)) && isInScopes(spec, pod)
      );
    });
  }

  /** @throws StatusError Forbidden if the pod lacks a request or limit that a quota covers */
  function checkAmounts(request: AdmissionRequest, quota: ApiObject, object: ApiObject): void {
    const pod = podIn(request, object);
    if (pod === undefined || request.operation !== 'CREATE') return;
    const missing = missingAmounts(pod, new Set(Object.keys(typed<ResourceQuota>(quota).status?.hard ?? {})));
    if (missing.length === 0) return;
    const name = quota.metadata.name ?? '';
    throw refusal(request, `failed quota: ${name}: must specify ${missing.join('; ')}`);
  }

  /** Until it is stored it is counted as promised. @throws StatusError Forbidden if it is too much */
  async function charge(
    request: AdmissionRequest,
    object: ApiObject,
    quotas: readonly ApiObject[],
    delta: Amounts,
  ): Promise<void> {
    const { namespace, resource, dryRun } = request;
    const item = { quotas, delta, dryRun, refuse: (why: string) => refusal(request, why) };
    if (dryRun) return chargeTogether(namespace, item);
    const entry = pending.add(namespace, {
      resource,
      key: `${namespace}/${object.metadata.name ?? ''}`,
      afterRevision: Number(request.old?.metadata.resourceVersion ?? 0),
      delta,
    });
    try {
      await chargeTogether(namespace, { ...item, promise: entry.promise });
    } catch (thrown) {
      entry.withdraw();
      throw thrown;
    }
  }

  async function hold(request: AdmissionRequest, object: ApiObject): Promise<void> {
    const { old, resource, operation } = request;
    const quotas = concerned(request, object);
    if (quotas.length === 0) return;
    for (const quota of quotas) checkAmounts(request, quota, object);
    const nowMs = clock.now();
    const usage = usageOf(resource.info, object, vocabulary, nowMs);
    const before: Amounts =
      operation === 'UPDATE' && old !== undefined
        ? usageOf(resource.info, old, vocabulary, nowMs)
        : new Map();
    const delta = increaseOf(usage, before);
    if (delta.size > 0) await charge(request, object, quotas, delta);
  }

  return {
    name: 'ResourceQuota',
    operations: ['CREATE', 'UPDATE'],
    validate(request) {
      // Fast path: most namespaces have no quotas.
      const { object } = request;
      if (object === undefined || !concerns(request) || quotasOf(request.namespace).length === 0)
        return undefined;
      return hold(request, object);
    },
  };
}
