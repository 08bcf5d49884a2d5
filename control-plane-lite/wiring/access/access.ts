/** Authentication and authorization as configured. */
import type { ClusterRole } from '#api/gen/rbac-authorization-v1.ts';
import type { Authenticator } from '../../authn/contract.ts';
import { bootstrapPolicy } from '../../authz/bootstrap.ts';
import type { Authorizer } from '../../authz/contract.ts';
import { alwaysAllow, alwaysDeny, createAuthorizerChain, masters } from '../../authz/modes.ts';
import { createNodeAuthorizer } from '../../authz/node.ts';
import { createNodeGraph } from '../../authz/node-graph.ts';
import { createRbac, type Rbac } from '../../authz/rbac.ts';
import type { ResourceCache } from '../../cache/contract.ts';
import type { StorageInfo } from '../../resources/contract.ts';
import { builtinFacts } from '../../resources/facts.ts';
import { typed } from '../../resources/view.ts';
import { type AuthenticationDeps, createAuthenticator } from './authentication.ts';
import { type AuthorizationModeDeps, abacMode, webhookMode } from './authorization-modes.ts';

export interface Access {
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  readonly rbac: Rbac | undefined;
  /** Group of the rbac resources on the wire. */
  readonly rbacGroup: string;
}

export type AccessDeps = AuthenticationDeps & AuthorizationModeDeps;

/** @throws Error that names the unreadable file */
export async function createAccess(deps: AccessDeps): Promise<Access> {
  const { config, vocabulary } = deps;
  const rbacGroup = `rbac.authorization.${vocabulary.apiGroupDomain}`;
  const rbac = config.authorizationMode.includes('RBAC')
    ? createRbac(rbacCaches(deps, rbacGroup))
    : undefined;
  const modeOf = (mode: string): Authorizer | Promise<Authorizer> => {
    if (mode === 'AlwaysAllow') return alwaysAllow;
    if (mode === 'Node') return nodeMode(deps, rbacGroup);
    if (mode === 'ABAC') return abacMode(deps);
    if (mode === 'Webhook') return webhookMode(deps);
    return mode === 'RBAC' && rbac !== undefined ? rbac : alwaysDeny;
  };
  const modes: Authorizer[] = [];
  for (const mode of config.authorizationMode) modes.push(await modeOf(mode));
  return {
    authenticator: await createAuthenticator(deps),
    authorizer: createAuthorizerChain([masters, ...modes]),
    rbac,
    rbacGroup,
  };
}

/** The role whose rules apply to every node, whether or not RBAC is enabled. */
const NODE_ROLE = 'system:node';

function nodeMode({ cache, registry, vocabulary }: AccessDeps, rbacGroup: string): Authorizer {
  const cacheOf = (group: string, plural: string): ResourceCache | undefined => {
    const resource = registry.find(group, 'v1', plural);
    return resource === undefined ? undefined : cache.resource(resource.storage);
  };
  const graph = createNodeGraph({
    pods: cacheOf('', 'pods'),
    volumes: cacheOf('', 'persistentvolumes'),
    attachments: cacheOf(`storage.${vocabulary.apiGroupDomain}`, 'volumeattachments'),
    mirrorAnnotation: vocabulary.configMirror,
  });
  const role = bootstrapPolicy(vocabulary).find(
    ({ apiVersion, kind, metadata }) =>
      apiVersion === `${rbacGroup}/v1` && kind === 'ClusterRole' && metadata.name === NODE_ROLE,
  );
  const rules = role === undefined ? [] : (typed<ClusterRole>(role).rules ?? []);
  return createNodeAuthorizer({ graph, vocabulary, rules });
}

function rbacCaches(
  { cache, registry, vocabulary }: AccessDeps,
  group: string,
): Parameters<typeof createRbac>[0] {
  const storageOf = (plural: string): StorageInfo => {
    const served = registry.find(group, 'v1', plural);
    if (served !== undefined) return served.storage;
    // Rules apply whether or not the resources are served.
    const fact = builtinFacts(vocabulary).find(({ info }) => info.group === group && info.plural === plural);
    if (fact === undefined) throw new Error(`${plural} is not in the table of resources`);
    const { kind, namespaced } = fact.info;
    return { prefix: `/registry/${group}/${plural}/`, apiVersion: `${group}/v1`, kind, namespaced };
  };
  return {
    clusterRoles: cache.resource(storageOf('clusterroles')),
    roles: cache.resource(storageOf('roles')),
    clusterRoleBindings: cache.resource(storageOf('clusterrolebindings')),
    roleBindings: cache.resource(storageOf('rolebindings')),
  };
}
