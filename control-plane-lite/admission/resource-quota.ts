/** Holds namespaces to their ResourceQuotas: what is made is counted before it is there, so that no two requests get
 *  the same rest. What is not made in the end is given back when the controller counts again.
 *  Source: document 2, 2.7 (ResourceQuota); upstream's plugin, release 1.24. */
import { compareQuantities } from '#api/meta/quantity.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { Pod, ResourceQuota } from '#api/schema/gen/core-v1.ts';
import {
  type Amounts,
  addAmounts,
  formatAmounts,
  increaseOf,
  NONE,
  onlyNamed,
  readAmounts,
  writeAmounts,
} from '../quota/amounts.ts';
import { isInScopes, missingAmounts } from '../quota/pods.ts';
import { concernsKind, usageOf } from '../quota/usage.ts';
import type { ApiObject } from '../resources/contract.ts';
import { membersOf, typed } from '../resources/view.ts';
import { indexByNamespace } from './by-namespace.ts';
import type { AdmissionPlugin, AdmissionRequest } from './contract.ts';
import type { AdmissionDeps } from './deps.ts';
import { refusal } from './refusal.ts';

/** Changes the status of a quota, of which the newest state is handed in. */
export type QuotaWriter = (
  namespace: string,
  name: string,
  change: (live: ApiObject) => ApiObject,
) => Promise<void>;

/** What may use more of a quota after it was made. */
const GROWING: ReadonlySet<string> = new Set(['services', 'persistentvolumeclaims']);

const podIn = ({ resource: { info } }: AdmissionRequest, object: ApiObject): Pod | undefined =>
  info.group === '' && info.plural === 'pods' ? typed<Pod>(object) : undefined;

function concerns({ operation, resource: { info }, subresource, object }: AdmissionRequest): boolean {
  if (object === undefined || subresource !== '' || !info.namespaced) return false;
  return operation === 'CREATE' || (info.group === '' && GROWING.has(info.plural));
}

/** What is used when the request is granted; `undefined`: the quota has nothing to do with it.
 *  @throws StatusError Forbidden if it is too much */
function spend(request: AdmissionRequest, quota: ApiObject, delta: Amounts): Amounts | undefined {
  const { status } = typed<ResourceQuota>(quota);
  const [hard, used] = [readAmounts(status?.hard), readAmounts(status?.used)];
  const requested = onlyNamed(delta, hard);
  if (requested.size === 0) return undefined;
  const name = quota.metadata.name ?? '';
  const unknown = [...requested.keys()].filter((each) => !used.has(each));
  if (unknown.length > 0) {
    throw refusal(request, `status unknown for quota: ${name}, resources: ${unknown.toSorted().join(',')}`);
  }
  const next = addAmounts(used, requested);
  const exceeded = new Set(
    [...requested.keys()].filter(
      (each) => compareQuantities(next.get(each) ?? NONE, hard.get(each) ?? NONE) > 0,
    ),
  );
  if (exceeded.size === 0) return next;
  const [asked, before, most] = [requested, used, hard].map((each) =>
    formatAmounts(onlyNamed(each, exceeded)),
  );
  throw refusal(request, `exceeded quota: ${name}, requested: ${asked}, used: ${before}, limited: ${most}`);
}

/** One after the other for each key. */
function createTurns(): (key: string, work: () => Promise<void>) => Promise<void> {
  const last = new Map<string, Promise<void>>();
  return async (key, work) => {
    const before = last.get(key);
    const turn = (before ?? Promise.resolve()).then(work);
    const settled = turn.catch(() => undefined);
    last.set(key, settled);
    try {
      await turn;
    } finally {
      if (last.get(key) === settled) last.delete(key);
    }
  };
}

/** A quota that is gone by now holds nobody. */
async function unlessGone(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (thrown) {
    if (!(thrown instanceof StatusError && thrown.reason === 'NotFound')) throw thrown;
  }
}

export function createResourceQuotaAdmission(
  { vocabulary, clock, objects }: AdmissionDeps,
  write: QuotaWriter,
): AdmissionPlugin {
  const quotasOf = indexByNamespace(objects('', 'resourcequotas'));
  const inTurn = createTurns();

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

  /** @throws StatusError Forbidden if a quota needs to know more of the pod than it says */
  function checkAmounts(request: AdmissionRequest, quota: ApiObject, object: ApiObject): void {
    const pod = podIn(request, object);
    if (pod === undefined || request.operation !== 'CREATE') return;
    const missing = missingAmounts(pod, new Set(Object.keys(typed<ResourceQuota>(quota).status?.hard ?? {})));
    if (missing.length === 0) return;
    const name = quota.metadata.name ?? '';
    throw refusal(request, `failed quota: ${name}: must specify ${missing.join('; ')}`);
  }

  async function charge(
    request: AdmissionRequest,
    quotas: readonly ApiObject[],
    delta: Amounts,
  ): Promise<void> {
    // All are asked before any is charged.
    if (quotas.length > 1 || request.dryRun) for (const quota of quotas) spend(request, quota, delta);
    if (request.dryRun) return;
    for (const quota of quotas) {
      const change = (live: ApiObject): ApiObject => {
        const used = spend(request, live, delta);
        if (used !== undefined) membersOf(live, 'status')['used'] = writeAmounts(used);
        return live;
      };
      await unlessGone(write(request.namespace, quota.metadata.name ?? '', change));
    }
  }

  async function hold(request: AdmissionRequest, object: ApiObject): Promise<void> {
    const { old, namespace, resource, operation } = request;
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
    if (delta.size > 0) await inTurn(namespace, () => charge(request, quotas, delta));
  }

  return {
    name: 'ResourceQuota',
    operations: ['CREATE', 'UPDATE'],
    validate(request) {
      // Most namespaces have none: nothing is to be waited for then.
      const { object } = request;
      if (object === undefined || !concerns(request) || quotasOf(request.namespace).length === 0)
        return undefined;
      return hold(request, object);
    },
  };
}
