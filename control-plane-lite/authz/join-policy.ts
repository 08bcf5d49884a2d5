/** Roles and bindings by which machines with a bootstrap token join as nodes: they may read cluster-info,
 *  request a client certificate, and have it approved; nodes may renew theirs. Pure. Source: bootstrap tokens
 *  and node certificates, document 2 §5.9 and §2.5. */
import type { PolicyRule, Subject } from '#api/gen/rbac-authorization-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { BOOTSTRAPPERS_GROUP } from '../authn/bootstrap-secret.ts';
import { ANONYMOUS } from '../authn/users.ts';
import type { ApiObject } from '../resources/contract.ts';

/** Group of the tokens that nodes join with. */
export const JOINING_GROUP: string = `${BOOTSTRAPPERS_GROUP}:nodes`;

const CLUSTER_INFO_ROLE = 'system:cluster-info-reader';

export function joinPolicy({ apiGroupDomain, publicNamespace }: Vocabulary): readonly ApiObject[] {
  const apiGroup = `rbac.authorization.${apiGroupDomain}`;
  const apiVersion = `${apiGroup}/v1`;
  const right = (name: string): string =>
    `system:certificates.${apiGroupDomain}:certificatesigningrequests:${name}`;
  const bind = (name: string, role: string, group: string): ApiObject => ({
    apiVersion,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup, kind: 'ClusterRole', name: role },
    subjects: [{ apiGroup, kind: 'Group', name: group }] satisfies Subject[],
  });
  const metadata = { name: CLUSTER_INFO_ROLE, namespace: publicNamespace };
  return [
    {
      apiVersion,
      kind: 'Role',
      metadata: { ...metadata },
      rules: [
        { verbs: ['get'], apiGroups: [''], resources: ['configmaps'], resourceNames: ['cluster-info'] },
      ] satisfies PolicyRule[],
    },
    {
      apiVersion,
      kind: 'RoleBinding',
      metadata: { ...metadata },
      roleRef: { apiGroup, kind: 'Role', name: CLUSTER_INFO_ROLE },
      subjects: [{ apiGroup, kind: 'User', name: ANONYMOUS.name }] satisfies Subject[],
    },
    bind('system:joining-nodes', 'system:node-bootstrapper', JOINING_GROUP),
    bind('system:joining-nodes-approval', right('nodeclient'), JOINING_GROUP),
    bind('system:nodes-renewal', right('selfnodeclient'), 'system:nodes'),
  ];
}
