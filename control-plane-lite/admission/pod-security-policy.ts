/** Admits pods that a PodSecurityPolicy allows, which the client or the pod's service account may use. Deprecated.
 *  Source: PodSecurityPolicy, document 2 §2.7; upstream's plugin, release 1.24. */
import { isDeepStrictEqual } from 'node:util';
import type { Pod } from '#api/gen/core-v1.ts';
import type { PodSecurityPolicy } from '#api/gen/policy-v1beta1.ts';
import { accountGroups, accountUser } from '../authn/service-account/claims.ts';
import type { AuthorizationAttributes } from '../authz/contract.ts';
import type { ApiObject, UserInfo } from '../resources/contract.ts';
import { typed } from '../resources/view.ts';
import type { AdmissionPlugin, AdmissionRequest } from './contract.ts';
import type { AdmissionDeps } from './deps.ts';
import {
  type Choice,
  choosePolicy,
  isUsable,
  type Mutable,
  type Refused,
} from './pod-security-policy/choose.ts';
import type { PodParts } from './pod-security-policy/context.ts';
import type { Policy } from './pod-security-policy/mutate.ts';
import { refusal } from './refusal.ts';

const EPHEMERAL = 'ephemeralcontainers';
/** Members of the metadata that the garbage collector and its finalizers change. */
const OF_GARBAGE_COLLECTION = ['ownerReferences', 'finalizers', 'selfLink', 'managedFields'];
/** The group that roles name, and the one of earlier releases. */
const GROUPS = ['policy', 'extensions'];

/** Whether an update changes only what garbage collection needs: that makes nobody's rights larger. */
function isOnlyGarbageCollection(object: ApiObject, old: ApiObject | undefined): boolean {
  if (old === undefined) return false;
  const plain = ({ metadata, ...rest }: ApiObject): unknown => ({
    ...rest,
    metadata: Object.fromEntries(
      Object.entries(metadata).filter(([name]) => !OF_GARBAGE_COLLECTION.includes(name)),
    ),
  });
  return isDeepStrictEqual(plain(object), plain(old));
}

const partsOf = ({ metadata, spec = { containers: [] } }: Pod): PodParts => ({
  spec,
  annotations: metadata?.annotations ?? {},
});

function policyOf(object: ApiObject): Policy | undefined {
  const { metadata, spec } = typed<PodSecurityPolicy>(object);
  if (spec === undefined) return undefined;
  return { name: metadata?.name ?? '', annotations: metadata?.annotations ?? {}, spec };
}

const attributesOf = (
  user: UserInfo,
  { namespace }: AdmissionRequest,
  group: string,
  name: string,
): AuthorizationAttributes => ({
  user,
  verb: 'use',
  isResource: true,
  group,
  version: '*',
  resource: 'podsecuritypolicies',
  subresource: '',
  namespace,
  name,
  path: '',
});

/** The service account of a pod as a user. */
const accountOf = (namespace: string, name: string): UserInfo => ({
  name: accountUser(namespace, name),
  groups: accountGroups(namespace),
  extra: {},
});

/** Whether one of the users may use the policy. */
async function isAllowed(
  authorizer: AdmissionDeps['authorizer'],
  request: AdmissionRequest,
  users: readonly UserInfo[],
  name: string,
): Promise<boolean> {
  for (const user of users) {
    for (const group of GROUPS) {
      const { effect } = await authorizer.authorize(attributesOf(user, request, group, name));
      if (effect === 'allow') return true;
    }
  }
  return false;
}

/** Returns the pod to evaluate; `undefined` if the request does not concern policies. */
function podOf({ object, old, operation, subresource }: AdmissionRequest): Pod | undefined {
  if (object === undefined || (subresource !== '' && subresource !== EPHEMERAL)) return undefined;
  if (operation === 'UPDATE' && isOnlyGarbageCollection(object, old)) return undefined;
  return typed<Pod>(object);
}

export function createPodSecurityPolicy({ vocabulary, objects, authorizer }: AdmissionDeps): AdmissionPlugin {
  const policies = new Map<string, Policy>();
  objects('policy', 'podsecuritypolicies').follow(({ type, current }) => {
    const policy = type === 'DELETED' ? undefined : policyOf(current.object());
    if (policy === undefined || !isUsable(policy)) policies.delete(current.name);
    else policies.set(policy.name, policy);
  });
  const annotation = `${vocabulary.domain}/psp`;
  const auditPrefix = `podsecuritypolicy.policy.${vocabulary.apiGroupDomain}`;

  /** @param first name of the policy to evaluate first */
  function choose(
    request: AdmissionRequest,
    pod: Pod,
    mutable: Mutable,
    first: string | undefined,
  ): Promise<Choice | Refused> {
    if (policies.size === 0)
      throw refusal(request, 'PodSecurityPolicy: no providers available to validate pod request');
    const account = pod.spec?.serviceAccountName ?? '';
    const users = [...(account === '' ? [] : [accountOf(request.namespace, account)]), request.user];
    const known = new Map<string, Promise<boolean>>();
    const rank = ({ name }: Policy): string => (name === first ? '' : name);
    return choosePolicy(
      {
        pod: partsOf(pod),
        mutable,
        policies: [...policies.values()].sort((left, right) => (rank(left) < rank(right) ? -1 : 1)),
        mayUse(name) {
          const allowed = known.get(name) ?? isAllowed(authorizer, request, users, name);
          known.set(name, allowed);
          return allowed;
        },
      },
      vocabulary,
    );
  }

  async function mutate(request: AdmissionRequest, object: ApiObject, pod: Pod): Promise<void> {
    const isNew = request.operation === 'CREATE';
    const chosen = await choose(request, pod, isNew ? 'all' : 'ephemeralContainers', undefined);
    if ('reasons' in chosen)
      throw refusal(request, `PodSecurityPolicy: unable to admit pod: ${chosen.reasons}`);
    object['spec'] = chosen.pod.spec;
    request.annotate(`${auditPrefix}/admit-policy`, chosen.policy);
    if (!isNew && Object.keys(chosen.pod.annotations).length === 0) return;
    object.metadata.annotations = {
      ...chosen.pod.annotations,
      ...(isNew ? { [annotation]: chosen.policy } : {}),
    };
  }

  async function validate(request: AdmissionRequest, pod: Pod): Promise<void> {
    const chosen = await choose(request, pod, 'nothing', pod.metadata?.annotations?.[annotation]);
    if ('reasons' in chosen)
      throw refusal(request, `PodSecurityPolicy: unable to validate pod: ${chosen.reasons}`);
    request.annotate(`${auditPrefix}/validate-policy`, chosen.policy);
  }

  return {
    name: 'PodSecurityPolicy',
    operations: ['CREATE', 'UPDATE'],
    resources: new Set(['/pods']),
    mutate(request) {
      const pod = podOf(request);
      if (pod === undefined || request.object === undefined) return undefined;
      if (request.operation !== 'CREATE' && request.subresource !== EPHEMERAL) return undefined;
      return mutate(request, request.object, pod);
    },
    validate(request) {
      const pod = podOf(request);
      return pod === undefined ? undefined : validate(request, pod);
    },
  };
}
