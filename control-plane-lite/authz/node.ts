/** Node authorizer: allows exactly the requests of a node agent; of secrets and similar objects only those
 *  that pods on the node refer to. Source: upstream's node authorizer, release 1.24; node authorization,
 *  document 2 §2.7. */
import type { PolicyRule } from '#api/gen/rbac-authorization-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { AuthorizationAttributes, Authorizer, Decision } from './contract.ts';
import type { NodeGraph, ReferredKind } from './node-graph.ts';
import { nodeNameOf } from './node-identity.ts';
import { allows } from './rules.ts';

export interface NodeAuthorizerDeps {
  readonly graph: Pick<NodeGraph, 'reaches' | 'reachesVolume' | 'reachesAttachment'>;
  readonly vocabulary: Vocabulary;
  /** Permissions of every node on resources that belong to no node in particular. */
  readonly rules: readonly PolicyRule[];
}

const ALLOWED: Decision = { effect: 'allow', reason: '' };
const NOTHING: Decision = { effect: 'none', reason: '' };
const none = (reason: string): Decision => ({ effect: 'none', reason });

const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch']);
const CHANGES: ReadonlySet<string> = new Set(['get', 'update', 'patch']);
const OWN_OBJECT: ReadonlySet<string> = new Set(['get', 'create', 'update', 'patch', 'delete']);

type Rule = (node: string, attributes: AuthorizationAttributes) => Decision;

export function createNodeAuthorizer({ graph, vocabulary, rules }: NodeAuthorizerDeps): Authorizer {
  const { nodeLeaseNamespace, apiGroupDomain } = vocabulary;

  function related(node: string, { name }: AuthorizationAttributes, reached: () => boolean): Decision {
    if (name === '') return none('No Object name found');
    return reached() ? ALLOWED : none(`no relationship found between node '${node}' and this object`);
  }

  const referred = (node: string, kind: ReferredKind, attributes: AuthorizationAttributes): Decision =>
    related(node, attributes, () => graph.reaches(node, kind, `${attributes.namespace}/${attributes.name}`));

  const readsOf =
    (kind: ReferredKind): Rule =>
    (node, attributes) => {
      if (!READS.has(attributes.verb)) return none('can only read resources of this type');
      if (attributes.subresource !== '') return none('cannot read subresource');
      if (attributes.namespace === '') return none('can only read namespaced object of this type');
      return referred(node, kind, attributes);
    };

  const getsOf =
    (reached: (node: string, attributes: AuthorizationAttributes) => boolean): Rule =>
    (node, attributes) => {
      if (attributes.verb !== 'get') return none('can only get individual resources of this type');
      if (attributes.subresource !== '') return none('cannot get subresource');
      return related(node, attributes, () => reached(node, attributes));
    };

  const claim: Rule = (node, attributes) => {
    if (attributes.subresource === 'status') {
      if (!CHANGES.has(attributes.verb)) return none('can only get/update/patch this type');
    } else if (attributes.verb !== 'get') return none('can only get individual resources of this type');
    else if (attributes.subresource !== '') return none('cannot get subresource');
    return referred(node, 'claim', attributes);
  };

  const token: Rule = (node, attributes) => {
    if (attributes.verb !== 'create' || attributes.name === '')
      return none('can only create tokens for individual service accounts');
    if (attributes.subresource !== 'token')
      return none('can only create token subresource of serviceaccount');
    return referred(node, 'account', attributes);
  };

  const lease: Rule = (node, attributes) => {
    if (!OWN_OBJECT.has(attributes.verb))
      return none('can only get, create, update, patch, or delete a node lease');
    if (attributes.namespace !== nodeLeaseNamespace)
      return none(`can only access leases in the ${JSON.stringify(nodeLeaseNamespace)} system namespace`);
    // The name of a new object is in the body, which admission checks.
    if (attributes.verb !== 'create' && attributes.name !== node)
      return none('can only access node lease with the same name as the requesting node');
    return ALLOWED;
  };

  const csiNode: Rule = (node, attributes) => {
    if (!OWN_OBJECT.has(attributes.verb))
      return none('can only get, create, update, patch, or delete a CSINode');
    if (attributes.subresource !== '') return none('cannot authorize CSINode subresources');
    if (attributes.verb !== 'create' && attributes.name !== node)
      return none('can only access CSINode with the same name as the requesting node');
    return ALLOWED;
  };

  const own: ReadonlyMap<string, Rule> = new Map([
    ['/secrets', readsOf('secret')],
    ['/configmaps', readsOf('configMap')],
    ['/persistentvolumeclaims', claim],
    ['/persistentvolumes', getsOf((node, { name }) => graph.reachesVolume(node, name))],
    ['/serviceaccounts', token],
    [
      `storage.${apiGroupDomain}/volumeattachments`,
      getsOf((node, { name }) => graph.reachesAttachment(node, name)),
    ],
    [`coordination.${apiGroupDomain}/leases`, lease],
    [`storage.${apiGroupDomain}/csinodes`, csiNode],
  ]);

  return {
    name: 'Node',
    authorize(attributes) {
      const node = nodeNameOf(attributes.user);
      if (node === undefined) return NOTHING;
      if (node === '') return none(`unknown node for user ${JSON.stringify(attributes.user.name)}`);
      const rule = attributes.isResource ? own.get(`${attributes.group}/${attributes.resource}`) : undefined;
      if (rule !== undefined) return rule(node, attributes);
      return rules.some((each) => allows(each, attributes)) ? ALLOWED : NOTHING;
    },
    // The permissions of a node depend on its pods. Upstream lists no rules for it either.
    rulesOf: () => ({ resource: [], nonResource: [] }),
  };
}
