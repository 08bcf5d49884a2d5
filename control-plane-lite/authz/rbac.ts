/** Role-based access control: index of the roles that are bound to each user, updated from the cache. Source:
 *  upstream's rbac authorizer; authorization, document 2 §5. */

import type {
  ClusterRole,
  PolicyRule,
  Role,
  RoleBinding,
  RoleRef,
  Subject,
} from '#api/gen/rbac-authorization-v1.ts';
import type { CacheChange, ResourceCache } from '../cache/contract.ts';
import type { ApiObject, UserInfo } from '../resources/contract.ts';
import { typed } from '../resources/view.ts';
import type { AuthorizationAttributes, Authorizer, Decision } from './contract.ts';
import { allows } from './rules.ts';

export interface RbacCaches {
  readonly clusterRoles: ResourceCache;
  readonly roles: ResourceCache;
  readonly clusterRoleBindings: ResourceCache;
  readonly roleBindings: ResourceCache;
}

export interface Rbac extends Authorizer {
  /** Returns all rules of a user: cluster-wide ones, and those of the namespace unless it is empty. */
  policyOf(user: UserInfo, namespace: string): readonly PolicyRule[];
  /** The rules of a role; those that it aggregates are written into it by a controller. */
  rulesOfRole(ref: RoleRef, namespace: string): readonly PolicyRule[] | undefined;
  close(): void;
}

interface Binding {
  readonly name: string;
  /** Empty for cluster-wide ones. */
  readonly namespace: string;
  readonly roleRef: RoleRef;
  readonly subjects: readonly Subject[];
}

const SERVICE_ACCOUNT_PREFIX = 'system:serviceaccount:';

/** Under which keys a subject's bindings are found. */
function subjectKey({ kind, name, namespace = '' }: Subject, bindingNamespace: string): string {
  if (kind !== 'ServiceAccount') return `${kind}:${name}`;
  return `User:${SERVICE_ACCOUNT_PREFIX}${namespace === '' ? bindingNamespace : namespace}:${name}`;
}

const userKeys = ({ name, groups }: UserInfo): readonly string[] => [
  `User:${name}`,
  ...groups.map((group) => `Group:${group}`),
];

/** Bindings by subject, so that a request evaluates only those of its user and groups. */
class BindingIndex {
  readonly #bySubject = new Map<string, Map<string, Binding>>();

  apply({ type, current, previous }: CacheChange): void {
    if (previous !== undefined) this.#remove(current.key, bindingOf(previous.object()));
    if (type !== 'DELETED') this.#add(current.key, bindingOf(current.object()));
    else this.#remove(current.key, bindingOf(current.object()));
  }

  of(user: UserInfo): readonly Binding[] {
    return userKeys(user).flatMap((key) => [...(this.#bySubject.get(key)?.values() ?? [])]);
  }

  #add(key: string, binding: Binding): void {
    for (const subject of binding.subjects) {
      const at = subjectKey(subject, binding.namespace);
      const bindings = this.#bySubject.get(at) ?? new Map<string, Binding>();
      bindings.set(key, binding);
      this.#bySubject.set(at, bindings);
    }
  }

  #remove(key: string, binding: Binding): void {
    for (const subject of binding.subjects) {
      const at = subjectKey(subject, binding.namespace);
      const bindings = this.#bySubject.get(at);
      bindings?.delete(key);
      if (bindings?.size === 0) this.#bySubject.delete(at);
    }
  }
}

function bindingOf(object: ApiObject): Binding {
  const { metadata, roleRef, subjects } = typed<RoleBinding>(object);
  return {
    name: metadata?.name ?? '',
    namespace: metadata?.namespace ?? '',
    roleRef,
    subjects: subjects ?? [],
  };
}

export function createRbac(caches: RbacCaches): Rbac {
  const cluster = new BindingIndex();
  const namespaced = new Map<string, BindingIndex>();
  const handles = [
    caches.clusterRoleBindings.follow((change) => cluster.apply(change)),
    caches.roleBindings.follow((change) => {
      const { namespace } = change.current;
      const index = namespaced.get(namespace) ?? new BindingIndex();
      namespaced.set(namespace, index);
      index.apply(change);
    }),
  ];

  function rulesOfRole(ref: RoleRef, namespace: string): readonly PolicyRule[] | undefined {
    const found =
      ref.kind === 'ClusterRole'
        ? caches.clusterRoles.get(ref.name)
        : caches.roles.get(`${namespace}/${ref.name}`);
    return found === undefined ? undefined : (typed<ClusterRole | Role>(found.object()).rules ?? []);
  }

  function* rules(user: UserInfo, namespace: string): Generator<readonly [PolicyRule, Binding]> {
    const bindings = [...cluster.of(user), ...(namespaced.get(namespace)?.of(user) ?? [])];
    for (const binding of bindings) {
      for (const rule of rulesOfRole(binding.roleRef, binding.namespace) ?? []) yield [rule, binding];
    }
  }

  return {
    name: 'RBAC',
    authorize(attributes: AuthorizationAttributes): Decision {
      for (const [rule, binding] of rules(attributes.user, attributes.namespace)) {
        if (allows(rule, attributes)) return { effect: 'allow', reason: reasonOf(binding, attributes.user) };
      }
      return { effect: 'none', reason: '' };
    },
    rulesOf(user, namespace) {
      const all = [...rules(user, namespace)].map(([rule]) => rule);
      return {
        resource: all.filter(({ resources = [] }) => resources.length > 0),
        nonResource: all.flatMap(({ verbs, nonResourceURLs = [] }) =>
          nonResourceURLs.length > 0 ? [{ verbs, nonResourceURLs }] : [],
        ),
      };
    },
    policyOf: (user, namespace) => [...rules(user, namespace)].map(([rule]) => rule),
    rulesOfRole,
    close() {
      for (const handle of handles) handle.close();
    },
  };
}

function reasonOf({ name, namespace, roleRef }: Binding, user: UserInfo): string {
  const where =
    namespace === '' ? `ClusterRoleBinding ${JSON.stringify(name)}` : `RoleBinding "${name}/${namespace}"`;
  return `RBAC: allowed by ${where} of ${roleRef.kind} ${JSON.stringify(roleRef.name)} to ${user.name}`;
}
