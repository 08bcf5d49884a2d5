/** Authentication and authorization as configured. */
import type { ClusterRole } from '#api/gen/rbac-authorization-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { createBootstrapTokenAuthenticator } from '../authn/bootstrap-token.ts';
import { createAuthenticationChain } from '../authn/chain.ts';
import { createClientCertificateAuthenticator } from '../authn/client-certificate.ts';
import type { Authenticator } from '../authn/contract.ts';
import { createTokenAuthenticator, parseTokenFile } from '../authn/token-file.ts';
import { bootstrapPolicy } from '../authz/bootstrap.ts';
import type { Authorizer } from '../authz/contract.ts';
import { alwaysAllow, alwaysDeny, createAuthorizerChain, masters } from '../authz/modes.ts';
import { createNodeAuthorizer } from '../authz/node.ts';
import { createNodeGraph } from '../authz/node-graph.ts';
import { createRbac, type Rbac } from '../authz/rbac.ts';
import type { Cache, ResourceCache } from '../cache/contract.ts';
import type { ServerConfig } from '../config/settings.ts';
import type { StorageInfo } from '../resources/contract.ts';
import { builtinFacts } from '../resources/facts.ts';
import type { ResourceRegistry } from '../resources/registry.ts';
import { typed } from '../resources/view.ts';
import type { ClientAuthorities } from './certificates/client-authorities.ts';
import type { Follow } from './certificates/follow.ts';

export interface Access {
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  readonly rbac: Rbac | undefined;
  /** Group of the rbac resources on the wire. */
  readonly rbacGroup: string;
}

export interface AccessDeps {
  readonly config: ServerConfig;
  readonly vocabulary: Vocabulary;
  readonly clock: Clock;
  readonly cache: Cache;
  readonly registry: ResourceRegistry;
  readonly clientAuthorities: ClientAuthorities;
  readonly follow: Follow;
  /** Authenticates service accounts. */
  readonly accounts: Authenticator;
}

/** @throws Error that names the unreadable file */
export async function createAccess(deps: AccessDeps): Promise<Access> {
  const { config, vocabulary } = deps;
  const rbacGroup = `rbac.authorization.${vocabulary.apiGroupDomain}`;
  const rbac = config.authorizationMode.includes('RBAC')
    ? createRbac(rbacCaches(deps, rbacGroup))
    : undefined;
  const modes = config.authorizationMode.map((mode) => {
    if (mode === 'AlwaysAllow') return alwaysAllow;
    if (mode === 'Node') return nodeMode(deps, rbacGroup);
    return mode === 'RBAC' && rbac !== undefined ? rbac : alwaysDeny;
  });
  return {
    authenticator: createAuthenticationChain(await methods(deps), { anonymous: config.anonymousAuth }),
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

async function methods(deps: AccessDeps): Promise<readonly Authenticator[]> {
  const { config, clock, clientAuthorities, accounts } = deps;
  const byBootstrapToken = bootstrapTokenMethods(deps);
  const certificates = createClientCertificateAuthenticator({ roots: clientAuthorities.certificates, clock });
  const { tokenAuthFile: file } = config;
  if (file === '') return [certificates, accounts, ...byBootstrapToken];
  const users = await deps.follow({
    what: 'token file',
    paths: [file],
    parse: ([text = '']) => parseTokenFile(text, file),
  });
  return [certificates, createTokenAuthenticator(users.current), accounts, ...byBootstrapToken];
}

/** Returns the authenticator of bootstrap tokens; none if they are disabled. */
function bootstrapTokenMethods(deps: AccessDeps): readonly Authenticator[] {
  const { config, clock, vocabulary, cache, registry } = deps;
  if (!config.enableBootstrapTokenAuth) return [];
  return [
    createBootstrapTokenAuthenticator({
      clock,
      vocabulary,
      find(key) {
        const secrets = registry.find('', 'v1', 'secrets');
        return secrets === undefined ? undefined : cache.resource(secrets.storage).get(key)?.object();
      },
    }),
  ];
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
