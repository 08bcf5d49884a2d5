/** Privilege escalation check: roles and bindings may grant only rights that their author has, unless the
 *  author may `escalate` or `bind`. Source: upstream's rbac escalation check. */

import type { ClusterRole, PolicyRule, RoleBinding } from '#api/gen/rbac-authorization-v1.ts';
import { forbidden } from '#api/meta/status-errors.ts';
import { MASTERS_GROUP } from '../authn/users.ts';
import type { Authorizer } from '../authz/contract.ts';
import type { Rbac } from '../authz/rbac.ts';
import { uncovered } from '../authz/rules.ts';
import { typed } from '../resources/view.ts';
import type { AdmissionPlugin, AdmissionRequest } from './contract.ts';

const ROLES: ReadonlySet<string> = new Set(['roles', 'clusterroles']);
const BINDINGS: ReadonlySet<string> = new Set(['rolebindings', 'clusterrolebindings']);

export interface RbacEscalationDeps {
  readonly rbac: Rbac;
  readonly authorizer: Authorizer;
  /** API group of the rbac resources. */
  readonly group: string;
}

export function createRbacEscalation({ rbac, authorizer, group }: RbacEscalationDeps): AdmissionPlugin {
  async function may(
    request: AdmissionRequest,
    verb: string,
    resource: string,
    name: string,
  ): Promise<boolean> {
    const { effect } = await authorizer.authorize({
      user: request.user,
      verb,
      isResource: true,
      group,
      version: 'v1',
      resource,
      subresource: '',
      namespace: request.namespace,
      name,
      path: '',
    });
    return effect === 'allow';
  }

  async function checkRole(request: AdmissionRequest, plural: string): Promise<void> {
    if (request.object === undefined) return;
    const { rules = [], aggregationRule } = typed<ClusterRole>(request.object);
    const before = request.old === undefined ? undefined : typed<ClusterRole>(request.old);
    const same =
      JSON.stringify([rules, aggregationRule]) ===
      JSON.stringify([before?.rules ?? [], before?.aggregationRule]);
    if (before !== undefined && same) return;
    const everything: PolicyRule = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };
    // Aggregated rules can grow without an update of the role.
    const wanted = aggregationRule === undefined ? rules : [...rules, everything];
    if (await may(request, 'escalate', plural, request.name)) return;
    refuse(request, plural, wanted);
  }

  async function checkBinding(request: AdmissionRequest, plural: string): Promise<void> {
    if (request.object === undefined) return;
    const { roleRef, subjects = [] } = typed<RoleBinding>(request.object);
    const before = request.old === undefined ? undefined : typed<RoleBinding>(request.old);
    if (before !== undefined && JSON.stringify(before.subjects ?? []) === JSON.stringify(subjects)) return;
    const resource = roleRef.kind === 'ClusterRole' ? 'clusterroles' : 'roles';
    if (await may(request, 'bind', resource, roleRef.name)) return;
    const rules = rbac.rulesOfRole(roleRef, request.namespace);
    if (rules === undefined) {
      const { kind, name } = roleRef;
      throw forbidden(
        { group, name: plural },
        request.name,
        `${kind} ${JSON.stringify(name)} is not there to be bound`,
      );
    }
    refuse(request, plural, rules);
  }

  function refuse(request: AdmissionRequest, plural: string, wanted: readonly PolicyRule[]): void {
    const missing = uncovered(rbac.policyOf(request.user, request.namespace), wanted);
    if (missing.length === 0) return;
    const { name, groups } = request.user;
    throw forbidden(
      { group, name: plural },
      request.name,
      `user ${JSON.stringify(name)} (groups=${JSON.stringify(groups)}) is attempting to grant RBAC permissions not currently held:\n${missing.map((rule) => JSON.stringify(rule)).join('\n')}`,
    );
  }

  return {
    name: 'RBACEscalation',
    operations: ['CREATE', 'UPDATE'],
    async validate(request) {
      const { group: own, plural } = request.resource.info;
      if (own !== group || request.user.groups.includes(MASTERS_GROUP)) return;
      if (ROLES.has(plural)) await checkRole(request, plural);
      else if (BINDINGS.has(plural)) await checkBinding(request, plural);
    },
  };
}
