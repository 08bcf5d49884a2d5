/** get and list. Source: reads and paging, document 1 §4.3 to §4.6. */
import { StatusError } from '#api/meta/status-error.ts';
import { notFound } from '#api/meta/status-errors.ts';
import { type CachedObject, CacheError, type ListPage, type ResourceCache } from '../cache/contract.ts';
import { decodeContinue, encodeContinue } from '../cache/list/continue-token.ts';
import { statusOf } from '../cache/list/list-errors.ts';
import {
  decideGet,
  decideList,
  type Freshness,
  type ListDecision,
  type StateRequest,
} from '../cache/list/list-semantics.ts';
import type { ApiRequest, ApiResponse } from '../http/contract.ts';
import type { Resource } from '../resources/contract.ts';
import { resourceSubject } from '../verbs/deps.ts';
import type { EndpointDeps } from './deps.ts';
import { booleanParameter, limitParameter, parseSelectors } from './read-request.ts';

/** Longest wait for a revision that the cache has not reached, in ms. */
const REVISION_WAIT_MS = 3000;

/** Returns the state that the query requests. @throws StatusError BadRequest */
export const stateRequest = (query: URLSearchParams): StateRequest => {
  const limit = limitParameter(query);
  return {
    resourceVersion: query.get('resourceVersion') ?? '',
    resourceVersionMatch: query.get('resourceVersionMatch') ?? '',
    continue: query.get('continue') ?? '',
    ...(limit === undefined ? {} : { limit }),
    ...(query.has('sendInitialEvents')
      ? { sendInitialEvents: booleanParameter(query, 'sendInitialEvents') }
      : {}),
  };
};

/** The same without pages: the limit and the token of the query have no effect. */
function wholeState(query: URLSearchParams): StateRequest {
  const { limit: _, continue: __, ...state } = stateRequest(query);
  return state;
}

/** Waits until the cache is fresh enough. @throws StatusError Timeout, ServiceUnavailable */
export async function reach({ cache }: EndpointDeps, freshness: Freshness): Promise<void> {
  if (freshness.kind === 'any') return;
  if (freshness.kind === 'notOlderThan' && freshness.revision <= cache.revision) return;
  try {
    if (freshness.kind === 'newest') await cache.waitForNewest();
    else await cache.waitFor(freshness.revision, REVISION_WAIT_MS);
  } catch (thrown) {
    const requested = freshness.kind === 'notOlderThan' ? freshness.revision : 0;
    throw thrown instanceof CacheError ? statusOf(thrown, requested) : thrown;
  }
}

export function cacheOf({ cache }: EndpointDeps, resource: Resource): ResourceCache {
  return cache.resource(resource.storage);
}

/** @throws StatusError NotFound */
export async function findObject(
  deps: EndpointDeps,
  request: ApiRequest,
  resource: Resource,
): Promise<CachedObject> {
  const { namespace, name } = request.info;
  await reach(deps, decideGet({ resourceVersion: request.query.get('resourceVersion') ?? '' }));
  const found = cacheOf(deps, resource).get(resource.storage.namespaced ? `${namespace}/${name}` : name);
  if (found === undefined) throw notFound(resourceSubject(resource), name);
  return found;
}

export async function getEndpoint(
  deps: EndpointDeps,
  request: ApiRequest,
  resource: Resource,
): Promise<ApiResponse> {
  deps.content.checkAccept(request, resource);
  return deps.content.cached(request, resource, await findObject(deps, request, resource));
}

export async function listEndpoint(
  deps: EndpointDeps,
  request: ApiRequest,
  resource: Resource,
): Promise<ApiResponse> {
  deps.content.checkAccept(request, resource);
  const domain = deps.vocabulary.apiGroupDomain;
  const { inPages = true, countRest = true } = deps.lists ?? {};
  const state = inPages ? stateRequest(request.query) : wholeState(request.query);
  const decision = decideList(state, domain);
  const page = await pageOf(deps, request, resource, decision, state.limit ?? 0);
  const token =
    page.next === undefined ? '' : encodeContinue({ revision: page.revision, after: page.next }, domain);
  return deps.content.list(request, resource, {
    items: page.items,
    revision: page.revision,
    continue: token,
    ...(page.remaining === undefined || token === '' || !countRest ? {} : { remaining: page.remaining }),
  });
}

async function pageOf(
  deps: EndpointDeps,
  request: ApiRequest,
  resource: Resource,
  decision: ListDecision,
  limit: number,
): Promise<ListPage> {
  const { info, query } = request;
  const selection = {
    ...parseSelectors(query),
    ...(info.namespace === '' || !resource.info.namespaced ? {} : { namespace: info.namespace }),
    ...(limit > 0 ? { limit } : {}),
  };
  checkFields(resource, selection.fields);
  const cache = cacheOf(deps, resource);
  const requested = 'revision' in decision ? (decision.revision ?? 0) : 0;
  try {
    switch (decision.kind) {
      case 'exact':
        await reach(deps, { kind: 'notOlderThan', revision: decision.revision });
        return await cache.list({ ...selection, revision: decision.revision });
      case 'continue': {
        const { revision, after } = decision;
        await reach(deps, revision === undefined ? { kind: 'newest' } : { kind: 'notOlderThan', revision });
        return await cache.list({ ...selection, after, ...(revision === undefined ? {} : { revision }) });
      }
      case 'newest':
      case 'any':
      case 'notOlderThan':
        await reach(deps, decision);
        return await cache.list(selection);
      default:
        return decision satisfies never;
    }
  } catch (thrown) {
    if (!(thrown instanceof CacheError)) throw thrown;
    const token = decision.kind === 'continue' ? restToken(query, deps.vocabulary.apiGroupDomain) : undefined;
    throw token === undefined ? statusOf(thrown, requested) : statusOf(thrown, requested, token);
  }
}

/** Returns a token for the rest of the list at its current state, for a list whose state has expired. */
function restToken(query: URLSearchParams, domain: string): string {
  const { after } = decodeContinue(query.get('continue') ?? '', domain);
  return encodeContinue({ after }, domain);
}

/** @throws StatusError BadRequest if a field selector names a field that the kind does not support */
export function checkFields(
  { strategy, stored }: Resource,
  fields: readonly { readonly field: string }[],
): void {
  const offered = strategy.selectableFields ?? stored?.strategy.selectableFields ?? {};
  for (const { field } of fields) {
    const known =
      field === 'metadata.name' || field === 'metadata.namespace' || Object.hasOwn(offered, field);
    if (!known) throw new StatusError('BadRequest', `field label not supported: ${field}`);
  }
}
