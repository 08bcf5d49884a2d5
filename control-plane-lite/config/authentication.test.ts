import { describe, expect, test } from 'vitest';
import { claimMapping } from '../wiring/access/authentication.ts';
import { ConfigError, configWarnings, parseConfig } from './parse.ts';

const OIDC = ['--oidc-issuer-url=https://idp.example', '--oidc-client-id=cluster'];
const PROXY = ['--requestheader-client-ca-file=ca.pem', '--requestheader-username-headers=X-Remote-User'];

describe('settings of authentication', () => {
  test('have the defaults of upstream', () => {
    expect(parseConfig([])).toMatchObject({
      oidcUsernameClaim: 'sub',
      oidcSigningAlgs: ['RS256'],
      tokenWebhookCacheTtl: 120_000,
      tokenWebhookVersion: 'v1beta1',
      serviceAccountExtendTokenExpiration: true,
      serviceAccountMaxTokenExpiration: 0,
      requestheaderUsernameHeaders: [],
    });
  });

  test.each([
    [['--oidc-issuer-url=https://idp.example'], 'must be given together'],
    [['--oidc-client-id=cluster'], 'must be given together'],
    [['--oidc-issuer-url=http://idp.example', '--oidc-client-id=c'], 'is not an https URL'],
    [['--oidc-issuer-url=idp', '--oidc-client-id=c'], 'is not an https URL'],
    [[...OIDC, '--oidc-username-claim='], '--oidc-username-claim: must not be empty'],
    [[...OIDC, '--oidc-required-claim=team'], '"team" is not claim=value'],
    [[...OIDC, '--oidc-required-claim==x'], '"=x" is not claim=value'],
    [[...OIDC, '--oidc-signing-algs=RS256,HS256'], '"HS256" is none of'],
    [[...OIDC, '--oidc-signing-algs=none'], '"none" is none of'],
    [['--authentication-token-webhook-version=v2'], '"v2" is none of v1, v1beta1'],
    [['--authentication-token-webhook-cache-ttl=-1s'], 'must not be negative'],
    [['--requestheader-client-ca-file=ca.pem'], 'requires --requestheader-username-headers'],
    [['--requestheader-username-headers=X-User'], 'requires --requestheader-client-ca-file'],
    [['--requestheader-allowed-names=proxy'], 'requires --requestheader-client-ca-file'],
    [[...PROXY, '--requestheader-group-headers= ,X-Group'], 'contains an empty value'],
    [['--service-account-max-token-expiration=59m'], 'must be between 1 hour and 2^32 seconds'],
    [['--service-account-max-token-expiration=1193047h'], 'must be between 1 hour and 2^32 seconds'],
    [['--service-account-issuer=a', '--service-account-issuer=a'], '"a" is given twice'],
    [['--service-account-issuer=:8080'], "contains a ':' but is not a URL"],
    [['--service-account-jwks-uri=http://keys.example'], 'is not an https URL'],
  ])('%j is rejected', (flags, problem) => {
    expect(() => parseConfig(flags)).toThrow(ConfigError);
    expect(() => parseConfig(flags)).toThrow(problem);
  });

  test.each([
    [[...OIDC, '--oidc-required-claim=a=b,c=d', '--oidc-required-claim=e=f=g'], { a: 'b,c=d', e: 'f=g' }],
    [OIDC, {}],
  ])('%j has required claims', (flags, requiredClaims) => {
    expect(claimMapping(parseConfig(flags))).toMatchObject({ requiredClaims });
  });

  test.each([
    [[], 'https://idp.example#'],
    [['--oidc-username-claim=name'], 'https://idp.example#'],
    [['--oidc-username-claim=email'], ''],
    [['--oidc-username-claim=email', '--oidc-username-prefix=idp:'], 'idp:'],
    [['--oidc-username-prefix=-'], ''],
    [['--oidc-username-prefix=idp:'], 'idp:'],
  ])('%j give user names a prefix', (flags, usernamePrefix) => {
    expect(claimMapping(parseConfig([...OIDC, ...flags]))).toMatchObject({ usernamePrefix });
  });

  test.each([
    [[], 0],
    [['--service-account-max-token-expiration=1h'], 1],
    [['--service-account-max-token-expiration=24h'], 1],
    [['--service-account-max-token-expiration=8760h'], 0],
    [['--service-account-max-token-expiration=1h', '--service-account-extend-token-expiration=false'], 0],
  ])('%j has %d warnings', (flags, count) => {
    expect(configWarnings(parseConfig(flags))).toHaveLength(count);
  });
});
