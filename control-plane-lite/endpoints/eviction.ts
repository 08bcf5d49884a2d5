/** Eviction subresource: deletes a pod if the disruption budgets that cover it allow one more disruption.
 *  Source: policy/v1 Eviction; upstream's eviction subresource. */
import { copyJson } from '#api/codec/copy-json.ts';
import type { PodDisruptionBudget } from '#api/gen/policy-v1.ts';
import { matchesLabels, selectorRequirements } from '#api/meta/selectors.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { tooManyRequests } from '#api/meta/status-errors.ts';
import { formatTime } from '#api/meta/time.ts';
import { SERVER } from '../authn/users.ts';
import type { CachedObject } from '../cache/contract.ts';
import type { ApiRequest, ApiResponse } from '../http/contract.ts';
import type { ApiObject, Resource } from '../resources/contract.ts';
import { disrupts, readEviction } from '../resources/core/pod-eviction.ts';
import { membersOf, typed } from '../resources/view.ts';
import type { Caller } from '../verbs/contract.ts';
import type { BodyTarget } from './content.ts';
import type { EndpointDeps } from './deps.ts';
import { findObject } from './read.ts';
import { callerOf, parseWriteQuery, refOf } from './read-request.ts';

/** Maximum number of disrupted pods recorded in a budget. */
const MAX_DISRUPTED = 2000;

export async function evictionEndpoint(
  deps: EndpointDeps,
  request: ApiRequest,
  pods: Resource,
  target: BodyTarget,
  budgets: Resource | undefined,
): Promise<ApiResponse> {
  const query = parseWriteQuery(request.query, request.headers['user-agent'], 'CreateOptions');
  const eviction = await deps.content.readObject(request, target, query.fieldValidation);
  // Its versions have the same format; admission sees the version of the subresource.
  eviction.apiVersion = target.apiVersion;
  const dryRun = readEviction(eviction, request.info.name).dryRun || query.dryRun;
  await deps.verbs.admit({
    ref: refOf(request, pods),
    draft: eviction,
    dryRun,
    operation: 'CREATE',
    subresource: 'eviction',
    schema: target.schema,
    caller: callerOf(request),
  });
  // Admission may have changed it.
  const requested = readEviction(eviction, request.info.name);
  const pod = (await findObject(deps, request, pods)).object();
  if (budgets !== undefined && disrupts(pod)) await consumeBudget(deps, request, budgets, pod, dryRun);
  const { propagationPolicy: policy, ...rest } = requested;
  const known = policy === 'Orphan' || policy === 'Background' || policy === 'Foreground';
  await deps.verbs.delete({
    ref: refOf(request, pods),
    ...rest,
    dryRun,
    admitted: true,
    ...(known ? { propagationPolicy: policy } : {}),
    caller: callerOf(request),
  });
  return deps.content.plain(request, 201, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    code: 201,
  });
}

function covers(entry: CachedObject, pod: ApiObject): boolean {
  const { selector } = typed<PodDisruptionBudget>(entry.object()).spec ?? {};
  return selector !== undefined && matchesLabels(selectorRequirements(selector), pod.metadata.labels ?? {});
}

/** @throws StatusError TooManyRequests if the budget doesn't allow it, InternalError if several budgets match */
async function consumeBudget(
  deps: EndpointDeps,
  request: ApiRequest,
  budgets: Resource,
  pod: ApiObject,
  dryRun: boolean,
): Promise<void> {
  const { namespace } = request.info;
  const { items } = await deps.cache.resource(budgets.storage).list({ namespace, labels: [], fields: [] });
  const [budget, ...more] = items.filter((entry) => covers(entry, pod));
  if (budget === undefined) return;
  if (more.length > 0) {
    throw new StatusError(
      'InternalError',
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    );
  }
  // Upstream's server looks at the budget alone then.
  if (dryRun) return void spend(copyJson(budget.object()), pod, deps.clock.now());
  // The server spends the budget: the client that evicts may have no right to budgets.
  const { signal } = request;
  const server: Caller = { user: SERVER, signal, warn: () => undefined, annotate: () => undefined };
  const fieldManager = `${deps.vocabulary.componentPrefix}-apiserver`;
  await deps.verbs.update({
    ref: { resource: budgets, namespace, name: budget.name },
    change: (live) => {
      return spend(live, pod, deps.clock.now());
    },
    dryRun: false,
    fieldManager,
    subresource: 'status',
    caller: server,
  });
}

/** Returns the budget with one disruption less. */
function spend(draft: ApiObject, pod: ApiObject, nowMs: number): ApiObject {
  const { status, metadata } = typed<PodDisruptionBudget>(draft);
  const name = metadata?.name ?? '';
  if ((status?.observedGeneration ?? 0) < (metadata?.generation ?? 0)) {
    throw refuse(name, 10, 'is still being processed by the server.');
  }
  const allowed = status?.disruptionsAllowed ?? 0;
  const disrupted = status?.disruptedPods ?? {};
  if (allowed < 0) throw new StatusError('Forbidden', `The disruption budget ${name} is negative`);
  if (Object.keys(disrupted).length > MAX_DISRUPTED) {
    throw new StatusError('Forbidden', `The disruption budget ${name} has too many evictions in flight`);
  }
  if (allowed === 0) {
    throw refuse(
      name,
      0,
      `needs ${status?.desiredHealthy ?? 0} healthy pods and has ${status?.currentHealthy ?? 0} currently`,
    );
  }
  const members = membersOf(draft, 'status');
  members['disruptionsAllowed'] = allowed - 1;
  members['disruptedPods'] = { ...disrupted, [pod.metadata.name ?? '']: formatTime(nowMs) };
  return draft;
}

function refuse(name: string, retryAfterSeconds: number, why: string): StatusError {
  const base = tooManyRequests(
    "Cannot evict pod as it would violate the pod's disruption budget.",
    retryAfterSeconds,
  );
  return new StatusError('TooManyRequests', base.message, {
    details: retryAfterSeconds === 0 ? {} : base.details,
    causes: [{ reason: 'DisruptionBudget', message: `The disruption budget ${name} ${why}` }],
  });
}
