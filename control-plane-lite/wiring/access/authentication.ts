/** Authenticators as configured, in upstream's order: first those that decide from memory, then remote ones. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Waits } from '#api/kit/waits.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { createBootstrapTokenAuthenticator } from '../../authn/bootstrap-token.ts';
import { createCertificateTrust } from '../../authn/certificate-trust.ts';
import { createAuthenticationChain, forAudiences } from '../../authn/chain.ts';
import type { Authenticator, Gate } from '../../authn/contract.ts';
import type { AuthenticationMetrics } from '../../authn/metrics.ts';
import { createOidcAuthenticator } from '../../authn/oidc/authenticator.ts';
import type { ClaimMapping } from '../../authn/oidc/claims.ts';
import { createHttpClient, type HttpClient } from '../../authn/oidc/http-client.ts';
import { createRequestHeaderAuthenticator } from '../../authn/request-header.ts';
import { createTokenCache } from '../../authn/token-cache.ts';
import { createTokenAuthenticator, parseTokenFile } from '../../authn/token-file.ts';
import { createTokenWebhookAuthenticator } from '../../authn/token-webhook/authenticator.ts';
import { createCertificateAuthenticator } from '../../authn/x509.ts';
import type { Cache } from '../../cache/contract.ts';
import type { ServerConfig } from '../../config/settings.ts';
import { createFairGate } from '../../http/limits/fair-gate.ts';
import type { ResourceRegistry } from '../../resources/registry.ts';
import { loadBackend } from '../../webhooks/backend.ts';
import type { CheckIdentity } from '../../webhooks/server-identity.ts';
import { type ClientAuthorities, requireCertificates } from '../certificates/client-authorities.ts';
import type { Follow } from '../certificates/follow.ts';

export interface AuthenticationDeps {
  readonly config: ServerConfig;
  readonly vocabulary: Vocabulary;
  readonly clock: Clock;
  readonly log: Logger;
  readonly waits?: Waits | undefined;
  readonly cache: Cache;
  readonly registry: ResourceRegistry;
  readonly clientAuthorities: ClientAuthorities;
  readonly proxyAuthorities: ClientAuthorities;
  readonly follow: Follow;
  readonly checkIdentity: CheckIdentity;
  /** Authenticates service accounts. */
  readonly accounts: Authenticator;
  /** Audiences of this server. */
  readonly audiences: readonly string[];
  readonly verifications: Gate;
  readonly metrics: AuthenticationMetrics;
  /** Ends the connections to other services. */
  readonly signal: AbortSignal;
}

/** Signatures verified at once: as many as leave threads to files and to other clients. */
const VERIFICATIONS = 2;
/** Calls of a remote service at once. */
const CALLS = 16;
const QUEUES = { maxPerFlow: 256, maxWaiting: 1024, maxWaitMs: 30_000 };

/** Time for which results of OpenID Connect are cached, as upstream caches successes. */
const OIDC_CACHE_MS = 10_000;
/** Time for which a reason of the webhook is cached: it may name a problem that passes. */
const WEBHOOK_REASON_MS = 10_000;

export const createVerificationGate = (clock: Clock): Gate =>
  createFairGate({ clock }, { slots: VERIFICATIONS, ...QUEUES });

const createCallGate = (clock: Clock): Gate => createFairGate({ clock }, { slots: CALLS, ...QUEUES });

/** @throws Error that names the unreadable file */
export async function createAuthenticator(deps: AuthenticationDeps): Promise<Authenticator> {
  const { config, accounts, audiences } = deps;
  const implicit = (methods: readonly Authenticator[]): readonly Authenticator[] =>
    methods.map((method) => forAudiences(audiences, method));
  const methods = [
    ...implicit(proxyMethods(deps)),
    certificateMethod(deps),
    ...implicit(await tokenFileMethods(deps)),
    accounts,
    ...implicit(bootstrapTokenMethods(deps)),
    ...implicit(await oidcMethods(deps)),
    ...(await webhookMethods(deps)),
  ];
  return createAuthenticationChain(methods, { anonymous: config.anonymousAuth });
}

function proxyMethods({ config, clock, proxyAuthorities }: AuthenticationDeps): readonly Authenticator[] {
  if (config.requestheaderClientCaFile === '') return [];
  const options = {
    usernameHeaders: config.requestheaderUsernameHeaders,
    groupHeaders: config.requestheaderGroupHeaders,
    extraPrefixes: config.requestheaderExtraHeadersPrefix,
    allowedNames: config.requestheaderAllowedNames,
  };
  const trust = createCertificateTrust({ roots: proxyAuthorities.certificates, clock });
  return [createRequestHeaderAuthenticator(trust, options)];
}

function certificateMethod({ clock, clientAuthorities, metrics }: AuthenticationDeps): Authenticator {
  return createCertificateAuthenticator({
    roots: clientAuthorities.certificates,
    clock,
    observeLifetime: metrics.certificateLifetime,
  });
}

async function tokenFileMethods({ config, follow }: AuthenticationDeps): Promise<readonly Authenticator[]> {
  const file = config.tokenAuthFile;
  if (file === '') return [];
  const parse = ([text = '']: readonly string[]) => parseTokenFile(text, file);
  const users = await follow({ what: 'token file', paths: [file], parse });
  return [createTokenAuthenticator(users.current)];
}

/** Returns the authenticator of bootstrap tokens; none if they are disabled. */
function bootstrapTokenMethods(deps: AuthenticationDeps): readonly Authenticator[] {
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

/** Returns how claims become a user. Names get the issuer as prefix, unless they are addresses or `-` disables it. */
export function claimMapping(config: ServerConfig): ClaimMapping {
  const { oidcUsernameClaim: usernameClaim, oidcUsernamePrefix: given } = config;
  const standard = usernameClaim === 'email' ? '' : `${config.oidcIssuerUrl}#`;
  return {
    usernameClaim,
    usernamePrefix: given === '-' ? '' : given === '' ? standard : given,
    groupsClaim: config.oidcGroupsClaim,
    groupsPrefix: config.oidcGroupsPrefix,
    requiredClaims: Object.fromEntries(
      config.oidcRequiredClaim.map((pair) => {
        const at = pair.indexOf('=');
        return [pair.slice(0, at), pair.slice(at + 1)];
      }),
    ),
  };
}

/** Returns a client that trusts the CAs of the file, whenever it changes; without a file, those of the system.
 *  @throws Error that names the unreadable file */
async function oidcClient({ config, follow }: AuthenticationDeps): Promise<HttpClient> {
  const file = config.oidcCaFile;
  if (file === '') return createHttpClient('');
  const bundle = await follow({
    what: 'CA of the OpenID Connect provider',
    paths: [file],
    parse: ([text = '']) => requireCertificates(file, text),
  });
  const http = createHttpClient(bundle.current());
  bundle.onChange(() => http.trust(bundle.current()));
  return http;
}

async function oidcMethods(deps: AuthenticationDeps): Promise<readonly Authenticator[]> {
  const { config, clock, log, audiences, metrics, verifications, signal } = deps;
  if (config.oidcIssuerUrl === '') return [];
  const http = await oidcClient(deps);
  signal.addEventListener('abort', () => void http.close(), { once: true });
  const method = createOidcAuthenticator(
    {
      clock,
      log: log.child({ component: 'oidc' }),
      http,
      signal,
      verifications,
      calls: createCallGate(clock),
      clientId: config.oidcClientId,
      algorithms: config.oidcSigningAlgs,
    },
    config.oidcIssuerUrl,
    claimMapping(config),
  );
  const times = { successMs: OIDC_CACHE_MS, unknownMs: 0, rejectedMs: OIDC_CACHE_MS };
  return [createTokenCache({ clock, audiences, stats: metrics.tokenCache }, method, times)];
}

async function webhookMethods(deps: AuthenticationDeps): Promise<readonly Authenticator[]> {
  const { config, clock, log, waits, vocabulary, audiences, metrics, signal } = deps;
  const { tokenWebhookConfigFile: file, tokenWebhookCacheTtl: ttlMs } = config;
  if (file === '') return [];
  const backend = await loadBackend(file, { log, checkIdentity: deps.checkIdentity });
  signal.addEventListener('abort', () => void backend.close(), { once: true });
  const method = createTokenWebhookAuthenticator(
    { backend, clock, log, waits, calls: createCallGate(clock), random: Math.random },
    {
      apiVersion: `authentication.${vocabulary.apiGroupDomain}/${config.tokenWebhookVersion}`,
      audiences,
    },
  );
  const times = { successMs: ttlMs, unknownMs: ttlMs, rejectedMs: Math.min(ttlMs, WEBHOOK_REASON_MS) };
  return [createTokenCache({ clock, audiences, stats: metrics.tokenCache }, method, times)];
}
