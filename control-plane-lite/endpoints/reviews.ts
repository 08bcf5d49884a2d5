/** Resources that are questions: who is this token, and may somebody do something. Nothing of them is stored.
 *  Source: document 1, 1 (virtual resource types); document 2, 2.1. */
import { StatusError } from '#api/meta/status-error.ts';
import type { TokenReview } from '#api/schema/gen/authentication-v1.ts';
import type {
  NonResourceAttributes,
  ResourceAttributes,
  SelfSubjectRulesReview,
  SubjectAccessReview,
} from '#api/schema/gen/authorization-v1.ts';
import type { Authenticator } from '../authn/contract.ts';
import type { AuthorizationAttributes, Authorizer } from '../authz/contract.ts';
import type { ApiRequest } from '../http/contract.ts';
import type { ApiObject, UserInfo } from '../resources/contract.ts';
import { typed } from '../resources/view.ts';

export interface ReviewDeps {
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
}

type Review = (deps: ReviewDeps, request: ApiRequest, object: ApiObject) => Promise<object>;

/** The status of each kind of review. */
export const REVIEWS: Readonly<Record<string, Review>> = {
  TokenReview: reviewToken,
  SubjectAccessReview: async (deps, _, object) => reviewAccess(deps, object, givenUser(object)),
  LocalSubjectAccessReview: async (deps, request, object) => {
    checkNamespace(request, object);
    return reviewAccess(deps, object, givenUser(object));
  },
  SelfSubjectAccessReview: async (deps, request, object) => reviewAccess(deps, object, request.user),
  SelfSubjectRulesReview: reviewRules,
};

async function reviewToken({ authenticator }: ReviewDeps, _: ApiRequest, object: ApiObject): Promise<object> {
  const { token = '', audiences = [] } = typed<TokenReview>(object).spec;
  if (token === '')
    throw new StatusError('BadRequest', 'token is required for TokenReview in authentication');
  const result = await authenticator.authenticate({
    headers: {},
    bearerToken: token,
    intermediates: [],
    ...(audiences.length === 0 ? {} : { audiences }),
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
  if (user === '' && groups.length === 0) {
    throw new StatusError('BadRequest', 'spec.user: at least one of user or group must be specified');
  }
  return { name: user, groups, extra, ...(uid === undefined ? {} : { uid }) };
}

function checkNamespace({ info }: ApiRequest, object: ApiObject): void {
  const namespace = typed<SubjectAccessReview>(object).spec.resourceAttributes?.namespace ?? '';
  if (namespace !== info.namespace) {
    throw new StatusError(
      'BadRequest',
      `spec.resourceAttributes.namespace: must match the namespace of the request, ${JSON.stringify(info.namespace)}, not ${JSON.stringify(namespace)}`,
    );
  }
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
  if ((resourceAttributes === undefined) === (nonResourceAttributes === undefined)) {
    throw new StatusError(
      'BadRequest',
      'spec: exactly one of resourceAttributes and nonResourceAttributes must be specified',
    );
  }
  const decision = await authorizer.authorize(attributesOf(user, resourceAttributes, nonResourceAttributes));
  return {
    allowed: decision.effect === 'allow',
    ...(decision.effect === 'deny' ? { denied: true } : {}),
    ...(decision.reason === '' ? {} : { reason: decision.reason }),
  };
}

function reviewRules({ authorizer }: ReviewDeps, { user }: ApiRequest, object: ApiObject): Promise<object> {
  const { namespace = '' } = typed<SelfSubjectRulesReview>(object).spec;
  if (namespace === '') throw new StatusError('BadRequest', 'no namespace on request');
  const { resource, nonResource } = authorizer.rulesOf(user, namespace);
  return Promise.resolve({ resourceRules: resource, nonResourceRules: nonResource, incomplete: false });
}
