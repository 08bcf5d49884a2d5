/** Review resources, which evaluate a request: TokenReview and the access reviews. Nothing is stored.
 *  Source: virtual resource types, document 1 §1; reviews, document 2 §2.1. */
import type { TokenReview } from '#api/gen/authentication-v1.ts';
import type {
  NonResourceAttributes,
  ResourceAttributes,
  SelfSubjectRulesReview,
  SubjectAccessReview,
} from '#api/gen/authorization-v1.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { invalid } from '#api/meta/status-errors.ts';
import type { Authenticator } from '../authn/contract.ts';
import type { AuthorizationAttributes, Authorizer } from '../authz/contract.ts';
import type { ApiRequest, ApiResponse } from '../http/contract.ts';
import type { ApiObject, Resource, UserInfo } from '../resources/contract.ts';
import { typed } from '../resources/view.ts';
import { kindSubject } from '../verbs/deps.ts';
import type { EndpointDeps } from './deps.ts';
import { callerOf, parseWriteQuery, refOf } from './read-request.ts';
import { targetOf } from './write.ts';

export interface ReviewDeps {
  readonly authenticator: Authenticator;
  /** Audiences of this server, for token reviews that name none. */
  readonly apiAudiences: readonly string[];
  readonly authorizer: Authorizer;
}

type Review = (deps: ReviewDeps, request: ApiRequest, object: ApiObject) => Promise<object>;

/** The status of each kind of review. */
export const REVIEWS: Readonly<Record<string, Review>> = {
  TokenReview: reviewToken,
  SubjectAccessReview: async (deps, _, object) => reviewAccess(deps, object, givenUser(object)),
  LocalSubjectAccessReview: async (deps, _, object) => reviewAccess(deps, object, givenUser(object)),
  SelfSubjectAccessReview: async (deps, request, object) => reviewAccess(deps, object, request.user),
  SelfSubjectRulesReview: reviewRules,
};

/** Kinds whose single validation error is reported as BadRequest. */
const PLAINLY_REFUSED: ReadonlySet<string> = new Set(['TokenReview', 'SelfSubjectRulesReview']);
const NO_GATES: ReadonlySet<string> = new Set();

/** @throws StatusError Invalid or BadRequest for an invalid review */
function checkReview(
  { clock, vocabulary }: EndpointDeps,
  { user, info }: ApiRequest,
  resource: Resource,
  object: ApiObject,
): void {
  const { namespace } = info;
  const given = object.metadata.namespace ?? '';
  if (given !== '' && given !== namespace) {
    throw new StatusError(
      'BadRequest',
      'the namespace of the provided object does not match the namespace sent on the request',
    );
  }
  const context = { vocabulary, user, namespace, nowMs: clock.now(), dryRun: false, gates: NO_GATES };
  const errors = resource.strategy.validate?.(object, context) ?? [];
  const [first] = errors;
  if (first === undefined) return;
  if (PLAINLY_REFUSED.has(resource.info.kind)) throw new StatusError('BadRequest', first.detail);
  throw invalid(kindSubject(resource), object.metadata.name ?? '', errors);
}

/** Responds with the review and its status. */
export async function reviewEndpoint(
  deps: EndpointDeps & { readonly reviews: ReviewDeps },
  request: ApiRequest,
  resource: Resource,
  review: Review,
): Promise<ApiResponse> {
  deps.content.checkAccept(request, resource);
  const { fieldValidation, dryRun } = parseWriteQuery(
    request.query,
    request.headers['user-agent'],
    'CreateOptions',
  );
  const object = await deps.content.readObject(request, targetOf(resource), fieldValidation);
  checkReview(deps, request, resource, object);
  await deps.verbs.admit({
    ref: { ...refOf(request, resource), name: object.metadata.name ?? '' },
    draft: object,
    dryRun,
    operation: 'CREATE',
    subresource: '',
    caller: callerOf(request),
  });
  // Admission may have changed it.
  checkReview(deps, request, resource, object);
  const status = await review(deps.reviews, request, object);
  return deps.content.plain(request, 201, { ...object, status });
}

async function reviewToken(
  { authenticator, apiAudiences }: ReviewDeps,
  { user: reviewer }: ApiRequest,
  object: ApiObject,
): Promise<object> {
  const { token = '', audiences = [] } = typed<TokenReview>(object).spec;
  const result = await authenticator.authenticate({
    headers: {},
    bearerToken: token,
    intermediates: [],
    audiences: audiences.length === 0 ? apiAudiences : audiences,
    flow: `reviews of ${reviewer.name}`,
  });
  if (result.kind !== 'user') {
    return { user: {}, ...(result.kind === 'rejected' ? { error: result.message } : {}) };
  }
  const { name, uid, groups, extra } = result.user;
  return {
    authenticated: true,
    user: {
      username: name,
      ...(uid === undefined ? {} : { uid }),
      groups,
      ...(Object.keys(extra).length === 0 ? {} : { extra }),
    },
    ...(result.audiences === undefined ? {} : { audiences: result.audiences }),
  };
}

function givenUser(object: ApiObject): UserInfo {
  const { user = '', groups = [], extra = {}, uid } = typed<SubjectAccessReview>(object).spec;
  return { name: user, groups, extra, ...(uid === undefined ? {} : { uid }) };
}

const NO_RESOURCE = {
  group: '',
  version: '',
  resource: '',
  subresource: '',
  namespace: '',
  name: '',
  path: '',
};

function attributesOf(
  user: UserInfo,
  resource: ResourceAttributes | undefined,
  path: NonResourceAttributes | undefined,
): AuthorizationAttributes {
  if (resource !== undefined) {
    const { verb = '', ...rest } = resource;
    return { ...NO_RESOURCE, ...rest, user, verb, isResource: true };
  }
  return { ...NO_RESOURCE, user, verb: path?.verb ?? '', path: path?.path ?? '', isResource: false };
}

async function reviewAccess({ authorizer }: ReviewDeps, object: ApiObject, user: UserInfo): Promise<object> {
  const { resourceAttributes, nonResourceAttributes } = typed<SubjectAccessReview>(object).spec;
  const decision = await authorizer.authorize(attributesOf(user, resourceAttributes, nonResourceAttributes));
  return {
    allowed: decision.effect === 'allow',
    ...(decision.effect === 'deny' ? { denied: true } : {}),
    ...(decision.reason === '' ? {} : { reason: decision.reason }),
  };
}

function reviewRules({ authorizer }: ReviewDeps, { user }: ApiRequest, object: ApiObject): Promise<object> {
  const { namespace = '' } = typed<SelfSubjectRulesReview>(object).spec;
  const { resource, nonResource } = authorizer.rulesOf(user, namespace);
  return Promise.resolve({ resourceRules: resource, nonResourceRules: nonResource, incomplete: false });
}
