/** Settings of OpenID Connect, the token webhook, the authenticating proxy and service account tokens. Source:
 *  document 2 §5.2 to §5.5; upstream's flags. */
import { SIGNING_ALGORITHMS } from '../../authn/oidc/algorithms.ts';
import type { SettingsOf } from './setting.ts';

/** Durations are in ms. */
export interface AuthenticationConfig {
  readonly serviceAccountMaxTokenExpiration: number;
  readonly serviceAccountExtendTokenExpiration: boolean;
  readonly serviceAccountJwksUri: string;
  readonly oidcIssuerUrl: string;
  readonly oidcClientId: string;
  readonly oidcUsernameClaim: string;
  readonly oidcUsernamePrefix: string;
  readonly oidcGroupsClaim: string;
  readonly oidcGroupsPrefix: string;
  readonly oidcRequiredClaim: readonly string[];
  readonly oidcCaFile: string;
  readonly oidcSigningAlgs: readonly string[];
  readonly tokenWebhookConfigFile: string;
  readonly tokenWebhookCacheTtl: number;
  readonly tokenWebhookVersion: string;
  readonly requestheaderClientCaFile: string;
  readonly requestheaderAllowedNames: readonly string[];
  readonly requestheaderUsernameHeaders: readonly string[];
  readonly requestheaderGroupHeaders: readonly string[];
  readonly requestheaderExtraHeadersPrefix: readonly string[];
}

export const AUTHENTICATION: SettingsOf<AuthenticationConfig> = {
  serviceAccountMaxTokenExpiration: {
    flag: 'service-account-max-token-expiration',
    type: 'duration',
    default: '0s',
    group: 'Authentication',
    help: 'maximum validity of service account tokens, from 1 hour; longer requests are shortened; 0: unlimited',
  },
  serviceAccountExtendTokenExpiration: {
    flag: 'service-account-extend-token-expiration',
    type: 'boolean',
    default: true,
    group: 'Authentication',
    help: 'extend the tokens that admission adds to pods to a year, for clients that do not reload them',
  },
  serviceAccountJwksUri: {
    flag: 'service-account-jwks-uri',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'URI of the public keys in the issuer’s discovery document; default: this server',
  },
  oidcIssuerUrl: {
    flag: 'oidc-issuer-url',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'https URL of the OpenID Connect provider whose ID tokens are accepted',
  },
  oidcClientId: {
    flag: 'oidc-client-id',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'client ID that ID tokens must be issued to',
  },
  oidcUsernameClaim: {
    flag: 'oidc-username-claim',
    type: 'string',
    default: 'sub',
    group: 'Authentication',
    help: 'claim of the user name',
  },
  oidcUsernamePrefix: {
    flag: 'oidc-username-prefix',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'prefix of user names; -: none; default: the issuer URL and #, unless the claim is email',
  },
  oidcGroupsClaim: {
    flag: 'oidc-groups-claim',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'claim of the groups, a string or a list of strings; default: users have no groups',
  },
  oidcGroupsPrefix: {
    flag: 'oidc-groups-prefix',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'prefix of groups',
  },
  oidcRequiredClaim: {
    flag: 'oidc-required-claim',
    type: 'list',
    default: [],
    whole: true,
    group: 'Authentication',
    help: 'claim=value that ID tokens must have; repeat the flag for more',
  },
  oidcCaFile: {
    flag: 'oidc-ca-file',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'CAs of the OpenID Connect provider; default: those of the system',
  },
  oidcSigningAlgs: {
    flag: 'oidc-signing-algs',
    type: 'list',
    default: ['RS256'],
    choices: SIGNING_ALGORITHMS,
    group: 'Authentication',
    help: 'accepted signature algorithms of ID tokens',
  },
  tokenWebhookConfigFile: {
    flag: 'authentication-token-webhook-config-file',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'client configuration of the service that reviews bearer tokens',
  },
  tokenWebhookCacheTtl: {
    flag: 'authentication-token-webhook-cache-ttl',
    type: 'duration',
    default: '2m',
    group: 'Authentication',
    help: 'time for which reviews of tokens are cached',
  },
  tokenWebhookVersion: {
    flag: 'authentication-token-webhook-version',
    type: 'string',
    default: 'v1beta1',
    choices: ['v1', 'v1beta1'],
    group: 'Authentication',
    help: 'version of the TokenReviews that are sent',
  },
  requestheaderClientCaFile: {
    flag: 'requestheader-client-ca-file',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'CAs of the certificates of authenticating proxies, and of nothing else',
  },
  requestheaderAllowedNames: {
    flag: 'requestheader-allowed-names',
    type: 'list',
    default: [],
    group: 'Authentication',
    help: 'common names of the certificates of authenticating proxies; default: any',
  },
  requestheaderUsernameHeaders: {
    flag: 'requestheader-username-headers',
    type: 'list',
    default: [],
    group: 'Authentication',
    help: 'headers of the user name; the first one with a value counts',
  },
  requestheaderGroupHeaders: {
    flag: 'requestheader-group-headers',
    type: 'list',
    default: [],
    group: 'Authentication',
    help: 'headers of groups',
  },
  requestheaderExtraHeadersPrefix: {
    flag: 'requestheader-extra-headers-prefix',
    type: 'list',
    default: [],
    group: 'Authentication',
    help: 'prefixes of headers with extra information about the user',
  },
};
