import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '../vocabulary.ts';
import { ClientConfigError, formatClientConfigError } from './error.ts';
import { parseClientConfig } from './parse.ts';
import { type ResolvedClientConfig, type ResolveOptions, resolveClientConfig } from './resolve.ts';

const FILE = '/etc/na/config';
const CERTIFICATE = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const KEY = '-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n';
const FILES: Readonly<Record<string, string>> = {
  '/etc/na/pki/ca.pem': CERTIFICATE,
  '/etc/na/pki/node.pem': CERTIFICATE + KEY,
  '/abs/token': 'secret-token\n',
  '/abs/empty': '\n',
};
const execVersion = (version: string, name: 'plat' | 'kubernetes' = 'plat'): string =>
  `client.authentication.${VOCABULARIES[name].apiGroupDomain}/${version}`;

const readFile = (path: string): Promise<string> => {
  const text = FILES[path];
  return text === undefined ? Promise.reject(new Error(`ENOENT ${path}`)) : Promise.resolve(text);
};

interface Change {
  readonly cluster?: object;
  readonly user?: object;
  readonly context?: object;
}

/** Resolves a base configuration with changes. */
function resolveWith(change: Change, options: ResolveOptions = {}): Promise<ResolvedClientConfig> {
  const config = {
    'current-context': 'here',
    clusters: [{ name: 'main', cluster: { server: 'https://api:6443', ...change.cluster } }],
    users: [{ name: 'node', user: change.user ?? {} }],
    contexts: [{ name: 'here', context: { cluster: 'main', user: 'node', ...change.context } }],
  };
  const parsed = parseClientConfig(JSON.stringify(config), FILE);
  if (parsed.kind === 'invalid') {
    throw new Error(parsed.errors.map((fieldError) => formatClientConfigError(FILE, fieldError)).join('\n'));
  }
  return resolveClientConfig(parsed.config, { readFile }, options);
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('resolveClientConfig', () => {
  test.each<[string, Change, object]>([
    [
      'an anonymous user',
      { context: { user: '' } },
      { server: 'https://api:6443', credentials: {}, userName: '' },
    ],
    ['the namespace', { context: { namespace: 'blue' } }, { namespace: 'blue' }],
    ['the namespace by default', {}, { namespace: 'default' }],
    [
      'a path, without its slash',
      { cluster: { server: 'https://api/base/' } },
      { server: 'https://api/base' },
    ],
    ['a host alone', { cluster: { server: 'api:80' } }, { server: 'http://api' }],
    [
      'a host alone, with TLS settings',
      { cluster: { server: 'api', 'insecure-skip-tls-verify': true } },
      { server: 'https://api', tls: { insecure: true } },
    ],
    [
      'files beside the configuration',
      {
        cluster: { 'certificate-authority': 'pki/ca.pem', 'tls-server-name': 'x' },
        user: { 'client-certificate': 'pki/node.pem', 'client-key': 'pki/node.pem' },
      },
      {
        tls: { authority: CERTIFICATE, serverName: 'x', insecure: false },
        credentials: {
          certificate: {
            certificate: { kind: 'file', path: '/etc/na/pki/node.pem' },
            key: { kind: 'file', path: '/etc/na/pki/node.pem' },
          },
        },
      },
    ],
    [
      'embedded data before a file',
      { cluster: { 'certificate-authority': 'none', 'certificate-authority-data': base64(CERTIFICATE) } },
      { tls: { authority: CERTIFICATE, insecure: false } },
    ],
    ['a token', { user: { token: 'abc' } }, { credentials: { bearer: { token: 'abc' } } }],
    [
      'a token file',
      { user: { tokenFile: '/abs/token' } },
      { credentials: { bearer: { token: '', tokenFile: '/abs/token' } } },
    ],
    [
      'a token beside a file that is still missing',
      { user: { token: 'abc', tokenFile: 'later' } },
      { credentials: { bearer: { token: 'abc', tokenFile: '/etc/na/later' } } },
    ],
    [
      'basic authentication',
      { user: { username: 'u', password: 'p:q' } },
      { credentials: { basic: { username: 'u', password: 'p:q' } } },
    ],
    [
      'impersonation',
      { user: { as: 'o', 'as-groups': ['g'] } },
      { impersonate: { user: 'o', uid: '', groups: ['g'], extra: {} } },
    ],
    ['a proxy', { cluster: { 'proxy-url': 'socks5://p:1' } }, { proxyUrl: 'socks5://p:1' }],
    [
      'a plugin beside the configuration, in the older version',
      { user: { exec: { command: './bin/x', apiVersion: execVersion('v1beta1', 'kubernetes') } } },
      {
        credentials: {
          exec: {
            command: '/etc/na/bin/x',
            interactiveMode: 'IfAvailable',
            infoVariable: VOCABULARIES.kubernetes.execInfoVariable,
          },
        },
      },
    ],
    [
      'a plugin that gets the cluster',
      {
        cluster: {
          'certificate-authority': 'pki/ca.pem',
          extensions: [
            { name: `client.authentication.${VOCABULARIES.plat.apiGroupDomain}/exec`, extension: { a: 1 } },
          ],
        },
        user: {
          exec: {
            command: 'x',
            apiVersion: execVersion('v1'),
            interactiveMode: 'Never',
            provideClusterInfo: true,
          },
        },
      },
      {
        credentials: {
          exec: {
            command: 'x',
            infoVariable: VOCABULARIES.plat.execInfoVariable,
            cluster: {
              server: 'https://api:6443',
              'certificate-authority-data': base64(CERTIFICATE),
              config: { a: 1 },
            },
          },
        },
      },
    ],
    [
      'oidc',
      {
        user: {
          'auth-provider': {
            name: 'oidc',
            config: {
              'idp-issuer-url': 'https://idp',
              'client-id': 'c',
              'id-token': 'i',
              'idp-certificate-authority': 'pki/ca.pem',
            },
          },
        },
      },
      {
        credentials: {
          oidc: {
            issuerUrl: 'https://idp',
            clientId: 'c',
            clientSecret: '',
            idToken: 'i',
            refreshToken: '',
            authority: CERTIFICATE,
          },
        },
      },
    ],
  ])('gives %s', async (_, change, expected) => {
    expect(await resolveWith(change)).toMatchObject(expected);
  });

  test('selects the requested context', async () => {
    await expect(resolveWith({}, { context: 'gone' })).rejects.toThrow(
      '/etc/na/config: contexts: Not found: "gone": no such context; the file has here',
    );
    expect((await resolveWith({}, { context: 'here' })).userName).toBe('node');
  });

  const user = 'users[0].user';
  const cluster = 'clusters[0].cluster';
  test.each<[string, Change, readonly string[]]>([
    [
      'entries that are missing',
      { context: { cluster: 'a', user: 'b' } },
      [
        'contexts[0].context.cluster: Not found: "a": no such cluster; the file has main',
        'contexts[0].context.user: Not found: "b": no such user; the file has node',
      ],
    ],
    [
      'a cluster without a server',
      { cluster: { server: '' } },
      [`${cluster}.server: Required value: the URL of the API server`],
    ],
    [
      'a server with a login, which is not shown',
      { cluster: { server: 'https://a:b@c' } },
      [`${cluster}.server: Invalid value: must be a URL such as https://api.example:6443`],
    ],
    [
      'an authority that must not be called',
      { cluster: { 'certificate-authority': 'pki/ca.pem', 'insecure-skip-tls-verify': true } },
      [
        `${cluster}.insecure-skip-tls-verify: Forbidden: must not be true together with a certificate-authority: remove one of them`,
      ],
    ],
    [
      'an unknown kind of proxy, and a token beside a password',
      { cluster: { 'proxy-url': 'ftp://a' }, user: { token: 't', username: 'u', password: 'p' } },
      [
        `${cluster}.proxy-url: Invalid value: must be a URL with the scheme http, https or socks5`,
        `${user}.token: Forbidden: must not be combined with username and password: remove one of them`,
      ],
    ],
    [
      'a certificate without a key',
      { user: { 'client-certificate': 'x' } },
      [
        `${user}.client-key: Required value: needed for the client certificate; client-key-data is accepted as well`,
      ],
    ],
    [
      'groups without a user',
      { user: { 'as-groups': ['a'] } },
      [`${user}.as: Required value: as-uid, as-groups and as-user-extra need a user`],
    ],
    [
      'a file that is missing',
      { cluster: { 'certificate-authority': 'gone' } },
      [
        `${cluster}.certificate-authority: Invalid value: "/etc/na/gone": the file must be readable: ENOENT /etc/na/gone`,
      ],
    ],
    [
      'a file without a certificate',
      { cluster: { 'certificate-authority': '/abs/token' } },
      [`${cluster}.certificate-authority: Invalid value: "/abs/token": must have a PEM block CERTIFICATE`],
    ],
    [
      'an empty token file',
      { user: { tokenFile: '/abs/empty' } },
      [`${user}.tokenFile: Invalid value: "/abs/empty": the file must have a token`],
    ],
    [
      'a plugin without the requirements of v1',
      { user: { exec: { apiVersion: execVersion('v1'), env: [{ name: 'a=b', value: 'c' }] } } },
      [
        `${user}.exec.command: Required value: the program that returns credentials`,
        `${user}.exec.interactiveMode: Required value: one of Never, IfAvailable, Always; ${execVersion('v1')} has no default`,
        `${user}.exec.env[0].name: Invalid value: "a=b": name of a variable, without "="`,
      ],
    ],
    [
      'a version of plugins that is gone',
      { user: { exec: { command: 'x', apiVersion: execVersion('v1alpha1'), interactiveMode: 'Sometimes' } } },
      [
        expect.stringMatching(/exec\.apiVersion: Unsupported value: ".*v1alpha1": supported values: /),
        `${user}.exec.interactiveMode: Unsupported value: "Sometimes": supported values: Never, IfAvailable, Always`,
      ],
    ],
    [
      'another auth provider',
      { user: { 'auth-provider': { name: 'gcp', config: {} } } },
      [
        `${user}.auth-provider.name: Unsupported value: "gcp": must be oidc; for other providers use an exec plugin (user.exec)`,
      ],
    ],
    [
      'an issuer without TLS',
      {
        user: {
          'auth-provider': { name: 'oidc', config: { 'idp-issuer-url': 'http://idp', 'client-id': 'c' } },
        },
      },
      [
        `${user}.auth-provider.config.idp-issuer-url: Invalid value: "http://idp": must be an https URL`,
        `${user}.auth-provider.config.id-token: Required value: give an id-token, a refresh-token or both`,
      ],
    ],
  ])('rejects %s', async (_, change, expected) => {
    const failure = await resolveWith(change).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(ClientConfigError);
    expect((failure as Error).message.split('\n')).toEqual(
      expected.map((line) => (typeof line === 'string' ? `${FILE}: ${line}` : line)),
    );
  });

  test('ignores validation errors of unused entries', async () => {
    const parsed = parseClientConfig(
      '{current-context: a, clusters: [{name: c, cluster: {server: "https://a"}}], contexts: [{name: a, context: {cluster: c}}], users: [{name: x, user: {exec: {command: y}}}]}',
      FILE,
    );
    if (parsed.kind === 'invalid') throw new Error('invalid');
    expect(await resolveClientConfig(parsed.config, { readFile })).toMatchObject({ server: 'https://a' });
  });
});
