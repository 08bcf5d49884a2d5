import { describe, expect, test } from 'vitest';
import { formatFieldError } from '../meta/field-error.ts';
import { parseClientConfig } from './parse.ts';

const WHOLE = `
apiVersion: v1
kind: Config
preferences: {}
current-context: here
clusters:
- name: main
  cluster:
    server: https://api.example:6443
    tls-server-name: api
    certificate-authority-data: ${Buffer.from('pem').toString('base64')}
    proxy-url: http://proxy:3128
    extensions:
    - name: some/thing
      extension: { a: [1] }
contexts:
- name: here
  context: { cluster: main, user: node, namespace: blue }
users:
- name: node
  user:
    client-certificate: pki/node.pem
    client-key: pki/node.key
    tokenFile: token
    as: other
    as-groups: [a, b]
    as-user-extra: { scopes: [x] }
    exec:
      command: bin/login
      args: [--now]
      env: [{ name: A, value: b }]
      apiVersion: whatever/v1
      provideClusterInfo: true
- name: person
  user:
    auth-provider: { name: oidc, config: { client-id: c } }
`;

const errorsOf = (text: string): readonly string[] => {
  const parsed = parseClientConfig(text, '/f');
  return parsed.kind === 'invalid' ? parsed.errors.map(formatFieldError) : [];
};

describe('parseClientConfig', () => {
  test('reads every field of a file', () => {
    const parsed = parseClientConfig(WHOLE, '/etc/x/config');
    expect(parsed.kind).toBe('parsed');
    if (parsed.kind !== 'parsed') return;
    expect(parsed.warnings).toEqual([]);
    const { clusters, users, contexts, currentContext, file } = parsed.config;
    expect({ currentContext, file }).toEqual({ currentContext: 'here', file: '/etc/x/config' });
    expect(contexts).toEqual([
      {
        name: 'here',
        path: 'contexts[0].context',
        entry: { cluster: 'main', user: 'node', namespace: 'blue' },
      },
    ]);
    expect(clusters[0]?.entry).toEqual({
      server: 'https://api.example:6443',
      tlsServerName: 'api',
      insecureSkipTlsVerify: false,
      authority: { data: 'pem' },
      proxyUrl: 'http://proxy:3128',
      extensions: new Map([['some/thing', { a: [1] }]]),
    });
    expect(users[0]?.entry).toMatchObject({
      certificate: { file: 'pki/node.pem' },
      key: { file: 'pki/node.key' },
      token: '',
      tokenFile: 'token',
      impersonate: { user: 'other', uid: '', groups: ['a', 'b'], extra: { scopes: ['x'] } },
      exec: {
        command: 'bin/login',
        args: ['--now'],
        env: [{ name: 'A', value: 'b' }],
        provideClusterInfo: true,
      },
    });
    expect(users[1]?.entry.authProvider).toEqual({ name: 'oidc', config: { 'client-id': 'c' } });
  });

  test('reads JSON, nulls and a file without kind', () => {
    const parsed = parseClientConfig('{"clusters":null,"users":[{"name":"a","user":{"token":null}}]}', '/f');
    expect(parsed).toMatchObject({ kind: 'parsed', config: { clusters: [], users: [{ name: 'a' }] } });
  });

  test('warns of unknown fields with a suggestion', () => {
    const parsed = parseClientConfig(
      '{users: [{name: a, user: {tokenfile: x, "disable-compression": true}}]}',
      '/f',
    );
    expect(parsed.kind === 'parsed' ? parsed.warnings.map(formatFieldError) : []).toEqual([
      'users[0].user.tokenfile: Unknown field: is not used; did you mean tokenFile?',
      expect.stringMatching(
        /^users\[0\]\.user\.disable-compression: Unknown field: is not used; known fields are/,
      ),
    ]);
  });

  test.each<[string, string, readonly string[]]>([
    ['an empty file', '', [': Required value: the file is empty']],
    ['a list', '[1]', [': Invalid value: must be an object']],
    ['another kind', 'kind: Pod', ['kind: Unsupported value: "Pod": must be Config']],
    ['another version', 'apiVersion: v2', ['apiVersion: Unsupported value: "v2": must be v1']],
    [
      'two documents',
      'kind: Config\n---\nkind: Config',
      ['line 3: Too many: a client configuration must be one document; put the others into separate files'],
    ],
    [
      'a name given twice',
      '{users: [{name: a, user: {}}, {name: a, user: {}}]}',
      ['users[1].name: Duplicate value: "a": each name must be given once'],
    ],
    [
      'an entry without content',
      '{users: [{name: a}]}',
      [
        'users[0].user: Required value: an object with client-certificate, client-certificate-data, client-key …',
      ],
    ],
    [
      'a number as a token, which is not shown',
      '{users: [{name: a, user: {token: 12345}}]}',
      ['users[0].user.token: Invalid value: must be a string: put it in quotes'],
    ],
    [
      'data that is not base64, which is not shown',
      '{users: [{name: a, user: {client-key-data: "%%"}}]}',
      ['users[0].user.client-key-data: Invalid value: must be base64 of a PEM text'],
    ],
    [
      'several errors at once',
      '{current-context: 3, clusters: [{name: a, cluster: {server: 1, insecure-skip-tls-verify: "yes"}}], users: {}}',
      [
        'clusters[0].cluster.server: Invalid value: 1: must be a string: put it in quotes',
        'clusters[0].cluster.insecure-skip-tls-verify: Invalid value: "yes": must be true or false',
        'users: Invalid value: {}: must be a list',
        'current-context: Invalid value: 3: must be a string: put it in quotes',
      ],
    ],
  ])('rejects %s', (_, text, expected) => {
    expect(errorsOf(text)).toEqual(expected);
  });

  test('reports the line of a validation error', () => {
    expect(errorsOf('a: [1')[0]).toMatch(/^line \d+, column \d+: /);
  });
});
