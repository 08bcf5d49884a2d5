/** `componentstatuses`: the health of the control plane's components, determined on request. */
import { asError } from '#api/kit/errno.ts';
import { describeError } from '#api/kit/error-chain.ts';
import { notFound } from '#api/meta/status-errors.ts';
import { decideList } from '../cache/list/list-semantics.ts';
import { StoredObject } from '../cache/state/cached-object.ts';
import { createLruBudget } from '../cache/state/lru-budget.ts';
import { compileSelection } from '../cache/state/selection.ts';
import type { ApiRequest, ApiResponse } from '../http/contract.ts';
import type { Resource } from '../resources/contract.ts';
import { resourceSubject } from '../verbs/deps.ts';
import type { EndpointDeps } from './deps.ts';
import { checkFields, stateRequest } from './read.ts';
import { parseSelectors } from './read-request.ts';

export interface Component {
  /** Upstream's name of the component. */
  readonly name: string;
  /** Returns the message of a healthy component. @throws Error with the reason if it is unhealthy */
  check(): string | Promise<string>;
}

type ComponentDeps = EndpointDeps & { readonly components: readonly Component[] };

async function conditionOf(component: Component): Promise<object> {
  try {
    return { type: 'Healthy', status: 'True', message: await component.check() };
  } catch (thrown) {
    const error = describeError(asError(thrown));
    return { type: 'Healthy', status: 'False', message: `${component.name} is unhealthy`, error };
  }
}

async function statusOf(component: Component): Promise<StoredObject> {
  const metadata = { name: component.name, creationTimestamp: null };
  const conditions = [await conditionOf(component)];
  const object = { kind: 'ComponentStatus', apiVersion: 'v1', metadata, conditions };
  const context = { selectable: {}, parsed: createLruBudget(0), forms: createLruBudget(0) };
  return new StoredObject(component.name, 0, Buffer.from(JSON.stringify(object)), context);
}

export async function getComponent(
  deps: ComponentDeps,
  request: ApiRequest,
  resource: Resource,
): Promise<ApiResponse> {
  deps.content.checkAccept(request, resource);
  const component = deps.components.find(({ name }) => name === request.info.name);
  if (component === undefined) throw notFound(resourceSubject(resource), request.info.name);
  return deps.content.cached(request, resource, await statusOf(component));
}

export async function listComponents(
  deps: ComponentDeps,
  request: ApiRequest,
  resource: Resource,
): Promise<ApiResponse> {
  deps.content.checkAccept(request, resource);
  decideList(stateRequest(request.query), deps.vocabulary.apiGroupDomain);
  const selectors = parseSelectors(request.query);
  checkFields(resource, selectors.fields);
  const matches = compileSelection(selectors);
  const all = await Promise.all(deps.components.map(statusOf));
  return deps.content.list(request, resource, {
    items: all.filter((component) => matches?.(component) !== false),
    revision: deps.cache.revision,
    continue: '',
  });
}
