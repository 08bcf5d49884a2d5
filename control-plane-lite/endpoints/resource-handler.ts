/** Router of resource requests to endpoints. Source: resource paths and verbs, document 1 §4.1 and §4.2. */
import { StatusError } from '#api/meta/status-error.ts';
import { methodNotSupported } from '#api/meta/status-errors.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiRequest, ApiResponse, Handler } from '../http/contract.ts';
import type { ObjectSchema, Resource, SubresourceInfo } from '../resources/contract.ts';
import { resourceSubject } from '../verbs/deps.ts';
import { type AccountTokenEndpoint, accountTokenEndpoint } from './account-token.ts';
import { bindingEndpoint } from './binding.ts';
import { type Component, getComponent, listComponents } from './components.ts';
import { connectOptions, connectRequestOf } from './connect-options.ts';
import { deleteCollectionEndpoint, deleteEndpoint } from './delete.ts';
import type { ConnectHandler, EndpointDeps } from './deps.ts';
import { evictionEndpoint } from './eviction.ts';
import { getEndpoint, listEndpoint } from './read.ts';
import { callerOf, refOf } from './read-request.ts';
import { REVIEWS, type ReviewDeps, reviewEndpoint } from './reviews.ts';
import { scaleEndpoint } from './scale.ts';
import type { ScaleMapping } from './scale-mapping.ts';
import { getUsage, listUsage, type UsageDeps } from './usage.ts';
import { watchEndpoint } from './watch.ts';
import { createEndpoint, patchEndpoint, updateEndpoint } from './write.ts';

export interface ResourceHandlerDeps extends EndpointDeps {
  readonly reviews: ReviewDeps;
  /** Returns how a resource is scaled; `undefined` if it isn't. */
  readonly scale: (resource: Resource) => ScaleMapping | undefined;
  readonly accountToken: AccountTokenEndpoint;
  /** Parses the options of a connection. */
  readonly connectSchema: (kind: string) => ObjectSchema;
  /** Source of `componentstatuses`. */
  readonly components: readonly Component[];
  /** Source of the metrics API. */
  readonly collector: UsageDeps['collector'];
  /** Parses the eviction's body. */
  readonly evictionSchema: Parameters<typeof evictionEndpoint>[3];
}

type Endpoint = (deps: EndpointDeps, request: ApiRequest, resource: Resource) => Promise<ApiResponse>;
type ResourceEndpoint = (
  deps: ResourceHandlerDeps,
  request: ApiRequest,
  resource: Resource,
) => Promise<ApiResponse>;

const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  get: getEndpoint,
  list: listEndpoint,
  watch: watchEndpoint,
  create: createEndpoint,
  update: updateEndpoint,
  patch: patchEndpoint,
  delete: deleteEndpoint,
  deletecollection: deleteCollectionEndpoint,
};

/** Endpoints of resources that are computed on request. */
const COMPONENT_ENDPOINTS: Readonly<Record<string, ResourceEndpoint>> = {
  get: getComponent,
  list: listComponents,
};

const USAGE_ENDPOINTS: Readonly<Record<string, ResourceEndpoint>> = { get: getUsage, list: listUsage };

function endpointsOf({ info, schema }: Resource, domain: string): Readonly<Record<string, ResourceEndpoint>> {
  if (info.group === '' && info.kind === 'ComponentStatus') return COMPONENT_ENDPOINTS;
  // A CustomResourceDefinition may have added kinds to the group.
  if (info.group === `metrics.${domain}` && schema.typeRef !== undefined) return USAGE_ENDPOINTS;
  return ENDPOINTS;
}

/** Endpoints of subresources that return their parent. */
const PART_ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  get: getEndpoint,
  update: updateEndpoint,
  patch: patchEndpoint,
};

const pathNotFound = (): StatusError =>
  new StatusError('NotFound', 'the server could not find the requested resource');

export function createResourceHandler(deps: ResourceHandlerDeps): Handler {
  return async (request) => {
    const delegate = deps.delegate?.(request);
    if (delegate !== undefined) return delegate(request);
    const { info } = request;
    const resource = deps.registry.find(info.group, info.version, info.resource);
    if (resource === undefined) throw pathNotFound();
    if (resource.deprecation !== undefined) tellOfDeprecation(request, resource, deps.vocabulary);
    checkScope(request, resource);
    if (info.subresource !== '') return subresource(deps, request, resource);
    if (resource.info.kind === 'Binding' && info.group === '') return bind(deps, request);
    // A custom kind may have the name of a review.
    const isOurs = resource.info.group !== '' && resource.schema.typeRef !== undefined;
    const review = isOurs ? REVIEWS[resource.info.kind] : undefined;
    if (review !== undefined && info.verb === 'create')
      return reviewEndpoint(deps, request, resource, review);
    const endpoint = endpointsOf(resource, deps.vocabulary.apiGroupDomain)[info.verb];
    if (endpoint === undefined || !resource.info.verbs.includes(info.verb)) {
      throw methodNotSupported(resourceSubject(resource), info.verb);
    }
    return endpoint(deps, request, resource);
  };
}

/** Source: deprecation warnings, document 1 §9.4; the metric is derived from the annotations. */
function tellOfDeprecation(
  request: ApiRequest,
  { deprecation = '', removedRelease }: Resource,
  { apiGroupDomain }: Vocabulary,
): void {
  request.warn(deprecation);
  request.annotate(`${apiGroupDomain}/deprecated`, 'true');
  if (removedRelease !== undefined) request.annotate(`${apiGroupDomain}/removed-release`, removedRelease);
}

/** Verbs of objects, and of collections; a list may name the single object that its selector matches. */
const OF_OBJECTS: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'update', 'patch', 'delete']);
const OF_COLLECTIONS: ReadonlySet<string> = new Set(['list', 'watch', 'create', 'deletecollection']);
/** Verbs that are allowed across namespaces. */
const ACROSS: ReadonlySet<string> = new Set(['list', 'watch']);

/** @throws StatusError NotFound if the path has a namespace but the resource is cluster-scoped, or lacks the
 *  one that the resource needs; MethodNotAllowed if the path does not support the verb */
function checkScope({ info }: ApiRequest, resource: Resource): void {
  const { namespaced } = resource.info;
  const { namespace, verb, name, subresource: part } = info;
  // The path of a namespace itself contains its name in both places.
  if (!namespaced && namespace !== '' && info.resource !== 'namespaces') throw pathNotFound();
  const everywhere = namespaced && namespace === '';
  if (everywhere && name !== '' && !ACROSS.has(verb)) throw pathNotFound();
  const verbs = everywhere ? ACROSS : name === '' ? OF_COLLECTIONS : OF_OBJECTS;
  if (part === '' && !verbs.has(verb)) throw methodNotSupported(resourceSubject(resource), verb);
}

async function bind(deps: ResourceHandlerDeps, request: ApiRequest): Promise<ApiResponse> {
  const pods = deps.registry.find('', 'v1', 'pods');
  const bindings = deps.registry.find('', 'v1', 'bindings');
  if (pods === undefined || bindings === undefined) throw pathNotFound();
  if (request.info.verb !== 'create') throw methodNotSupported(resourceSubject(bindings), request.info.verb);
  deps.content.checkAccept(request, bindings);
  return bindingEndpoint(deps, request, { pods, bindings });
}

async function subresource(
  deps: ResourceHandlerDeps,
  request: ApiRequest,
  resource: Resource,
): Promise<ApiResponse> {
  const { info } = request;
  const part = resource.info.subresources.get(info.subresource);
  if (part === undefined) throw pathNotFound();
  const connected = deps.connect?.(request, resource);
  if (connected !== undefined) return connect(deps, request, resource, part, connected);
  if (part.connect === true || part.options !== undefined) throw notReachable(resource, part);
  if (!part.verbs.includes(info.verb)) throw methodNotSupported(resourceSubject(resource), info.verb);
  switch (info.subresource) {
    case 'binding':
      return bind(deps, request);
    case 'eviction':
      return evictionEndpoint(
        deps,
        request,
        resource,
        deps.evictionSchema,
        deps.registry.find('policy', 'v1', 'poddisruptionbudgets'),
      );
    case 'token':
      return accountTokenEndpoint(deps, request, resource, deps.accountToken);
    case 'scale':
      return scaleEndpoint(deps, request, resource, deps.scale);
    default: {
      const endpoint = part.kind === resource.info.kind ? PART_ENDPOINTS[info.verb] : undefined;
      if (endpoint === undefined) throw methodNotSupported(resourceSubject(resource), info.verb);
      return endpoint(deps, request, resource);
    }
  }
}

/** Forwards a connect request after admission; admission does not apply to reads (logs). */
async function connect(
  deps: ResourceHandlerDeps,
  request: ApiRequest,
  resource: Resource,
  part: SubresourceInfo,
  connected: ConnectHandler,
): Promise<ApiResponse> {
  const target = { query: request.query, path: pathBehind(request) };
  if (part.connect !== true) return connected(request, target);
  const options = connectOptions(part.kind, target);
  await deps.verbs.admit({
    ref: refOf(request, resource),
    draft: options,
    dryRun: false,
    operation: 'CONNECT',
    subresource: part.name,
    schema: deps.connectSchema(part.kind),
    caller: callerOf(request),
  });
  return connected(request, connectRequestOf(options));
}

/** Returns the path after the subresource: empty or starting with a slash. */
function pathBehind({ info: { rest, path } }: ApiRequest): string {
  if (rest !== '') return `/${rest}`;
  return path.endsWith('/') ? '/' : '';
}

/** Handler of a connect subresource without a backend. */
function notReachable({ info }: Resource, { name }: SubresourceInfo): StatusError {
  return new StatusError('ServiceUnavailable', `${info.plural}/${name} is not available on this server`);
}
