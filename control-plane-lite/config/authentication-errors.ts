/** Checks authentication settings that only make sense together. Pure. Source: upstream's validation. */
import type { ServerConfig } from './settings.ts';

const HOUR_MS = 3_600_000;
const MAX_EXPIRATION_MS = 2 ** 32 * 1000;
/** Validity of the tokens that admission adds to pods. */
const POD_TOKEN_MS = 3_607_000;
const YEAR_MS = 365 * 24 * HOUR_MS;

const isHttps = (url: string): boolean => URL.parse(url)?.protocol === 'https:';

function oidcErrors(config: ServerConfig): readonly string[] {
  const { oidcIssuerUrl: issuer, oidcClientId: client, oidcUsernameClaim, oidcRequiredClaim } = config;
  const errors: string[] = [];
  if ((issuer === '') !== (client === '')) {
    errors.push('--oidc-issuer-url and --oidc-client-id must be given together');
  }
  if (issuer !== '' && !isHttps(issuer)) {
    errors.push(`--oidc-issuer-url: ${JSON.stringify(issuer)} is not an https URL`);
  }
  if (oidcUsernameClaim === '') errors.push('--oidc-username-claim: must not be empty');
  for (const pair of oidcRequiredClaim) {
    if (!/^[^=]+=/.test(pair)) {
      errors.push(`--oidc-required-claim: ${JSON.stringify(pair)} is not claim=value`);
    }
  }
  return errors;
}

function proxyErrors(config: ServerConfig): readonly string[] {
  const lists = {
    'requestheader-username-headers': config.requestheaderUsernameHeaders,
    'requestheader-group-headers': config.requestheaderGroupHeaders,
    'requestheader-extra-headers-prefix': config.requestheaderExtraHeadersPrefix,
    'requestheader-allowed-names': config.requestheaderAllowedNames,
  };
  const given = Object.entries(lists).filter(([, values]) => values.length > 0);
  const errors = given
    .filter(([, values]) => values.some((value) => value.trim() === ''))
    .map(([flag]) => `--${flag}: contains an empty value`);
  const hasCa = config.requestheaderClientCaFile !== '';
  const [first] = given;
  if (!hasCa && first !== undefined) errors.push(`--${first[0]} requires --requestheader-client-ca-file`);
  if (hasCa && config.requestheaderUsernameHeaders.length === 0) {
    errors.push('--requestheader-client-ca-file requires --requestheader-username-headers');
  }
  return errors;
}

function accountErrors(config: ServerConfig): readonly string[] {
  const {
    serviceAccountIssuer: issuers,
    serviceAccountMaxTokenExpiration: maxMs,
    serviceAccountJwksUri,
  } = config;
  const errors: string[] = [];
  for (const [index, issuer] of issuers.entries()) {
    const text = JSON.stringify(issuer);
    if (issuers.indexOf(issuer) !== index) errors.push(`--service-account-issuer: ${text} is given twice`);
    if (issuer.includes(':') && !URL.canParse(issuer)) {
      errors.push(`--service-account-issuer: ${text} contains a ':' but is not a URL`);
    }
  }
  if (maxMs !== 0 && (maxMs < HOUR_MS || maxMs > MAX_EXPIRATION_MS)) {
    errors.push('--service-account-max-token-expiration: must be between 1 hour and 2^32 seconds');
  }
  if (serviceAccountJwksUri !== '' && !isHttps(serviceAccountJwksUri)) {
    errors.push(`--service-account-jwks-uri: ${JSON.stringify(serviceAccountJwksUri)} is not an https URL`);
  }
  return errors;
}

export const authenticationErrors = (config: ServerConfig): readonly string[] => [
  ...oidcErrors(config),
  ...proxyErrors(config),
  ...accountErrors(config),
];

/** Returns warnings about a limit of token lifetimes that thwarts their extension. */
export function authenticationWarnings(config: ServerConfig): readonly string[] {
  const { serviceAccountExtendTokenExpiration: extended, serviceAccountMaxTokenExpiration: maxMs } = config;
  if (!extended || maxMs === 0) return [];
  if (maxMs < POD_TOKEN_MS) {
    return [
      '--service-account-extend-token-expiration has no effect: --service-account-max-token-expiration is below 3607 seconds',
    ];
  }
  return maxMs < YEAR_MS
    ? [
        '--service-account-extend-token-expiration extends tokens to a year, beyond --service-account-max-token-expiration',
      ]
    : [];
}
