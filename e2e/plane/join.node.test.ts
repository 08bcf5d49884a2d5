/** `nodeagent join` with a real server and the join command that it prints. Document 2 §5.9. */
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createApiClient } from '#agent/api-client/client.ts';
import { loadClientConfig } from '#agent/api-client/credentials/load.ts';
import { createTestAuthority } from '#agent/certs/store.fixture.ts';
import type { CliContext } from '#agent/cli/context.ts';
import { runCommand } from '#agent/cli/main.ts';
import { systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { issueIdentity } from '#api/pki/certificate.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { runServerCommand } from '#plane/commands/run-command.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { usePlane, VOCABULARY_NAMES } from './support.ts';

interface Heard {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function run(argv: readonly string[], cwd: string, onOut?: (text: string) => void): Promise<Heard> {
  const heard = { out: '', err: '' };
  const write = (stream: keyof typeof heard) => (chunk: string | Uint8Array) => {
    const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    heard[stream] += text;
    if (stream === 'out') onOut?.(text);
    return Promise.resolve();
  };
  const context: CliContext = {
    out: { write: write('out') },
    err: { write: write('err') },
    input: {
      isTerminal: false,
      async *read() {},
      takeTerminal: () => {
        throw new Error('there is no terminal');
      },
      close: () => undefined,
    },
    env: {},
    clock: systemClock,
    signal: new AbortController().signal,
    cwd,
    connect: () => {
      throw new Error('there is no agent');
    },
  };
  const code = await runCommand(argv, context);
  return { code, ...heard };
}

describe.each(VOCABULARY_NAMES)('%s', (vocabulary) => {
  const words = VOCABULARIES[vocabulary];
  const plane = usePlane(vocabulary, ['--enable-bootstrap-token-auth']);

  async function serverCommand(...argv: readonly string[]): Promise<string> {
    const [command = '', ...rest] = argv;
    const lines: string[] = [];
    const code = await runServerCommand(
      command === 'csr' ? 'csr' : 'token',
      [...rest, '--data-dir', plane.server.dir],
      (line) => lines.push(line),
    );
    expect(code).toBe(0);
    return lines.join('\n');
  }

  /** Returns the arguments of a new token's join command, from `join` on. */
  async function newLine(): Promise<readonly string[]> {
    const line = await serverCommand('token', 'create', '--ttl', '1h');
    expect(line).toMatch(/^nodeagent join https:/);
    return line.trim().split(' ').slice(1);
  }

  const join = (
    line: readonly string[],
    dir: TempDir,
    name: string,
    onOut?: (text: string) => void,
  ): Promise<Heard> =>
    run(
      [
        'join',
        `--hostname-override=${name}`,
        '--cert-dir=pki',
        '--platconfig=node.conf',
        '--bootstrap-kubeconfig=bootstrap.conf',
        '--timeout=20s',
        ...line.slice(1),
      ],
      dir.path,
      onOut,
    );

  test('the line that a token comes with makes a machine a node', async () => {
    await using dir = await createTempDir('na-join-');
    const { code, out, err } = await join(await newLine(), dir, 'joins');
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain('this machine has joined as node joins');
    expect(out).toContain(`nodeagent --config=${dir.path}/config.yaml --platconfig=${dir.path}/node.conf`);
    for (const file of [
      'node.conf',
      'bootstrap.conf',
      'config.yaml',
      'pki/cluster-ca.crt',
      'pki/nodeagent-client-current.pem',
    ]) {
      expect((await stat(`${dir.path}/${file}`)).mode & 0o777).toBe(0o600);
    }
    const { config } = await loadClientConfig(`${dir.path}/node.conf`);
    const { signal } = new AbortController();
    await using api = createApiClient(
      { clock: systemClock, log: silentLogger, env: {}, hasTerminal: false, passOn: () => undefined },
      config,
      { userAgent: 'test/1' },
    );
    const missing = api.get({ apiVersion: 'v1', resource: 'nodes', name: 'joins' }, signal);
    await expect(missing).rejects.toMatchObject({ status: 404 });
    // Its server will authorize only identities of the cluster.
    const written = await readFile(`${dir.path}/config.yaml`, 'utf8');
    expect(written).toContain(`clientCAFile: ${dir.path}/pki/cluster-ca.crt`);
    expect(written).toContain('mode: Webhook');
    expect(await readFile(`${dir.path}/pki/cluster-ca.crt`, 'utf8')).toBe(plane.server.credentials().ca);
    // Once is enough.
    const again = await join(await newLine(), dir, 'joins');
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('this machine is a node already')]);
  });

  test('the vocabulary of the server is detected', async () => {
    await using dir = await createTempDir('na-join-');
    const line = await newLine();
    const at = line.indexOf('--vocabulary');
    expect(line[at + 1]).toBe(vocabulary === 'plat' ? line[0] : vocabulary);
    const { code, out } = await join(at < 0 ? line : line.toSpliced(at, 2), dir, 'finds');
    expect(code).toBe(0);
    expect(out.includes('--vocabulary=kubernetes')).toBe(vocabulary === 'kubernetes');
  });

  test('a configuration that is there is added to, and restored when the machine leaves', async () => {
    await using dir = await createTempDir('na-join-');
    const before = `# mine\napiVersion: ${words.configApiGroup}/v1beta1\nkind: ${words.configKind}\nreadOnlyPort: 10255\n`;
    await writeFile(`${dir.path}/config.yaml`, before);
    const { code, out } = await join(await newLine(), dir, 'own');
    expect(code).toBe(0);
    expect(out).toContain(`added to ${dir.path}/config.yaml: authentication.anonymous.enabled, `);
    expect(out).toContain('did not change readOnlyPort: 10255');
    const merged = await readFile(`${dir.path}/config.yaml`, 'utf8');
    expect(merged).toContain('# mine');
    expect(merged).toContain('serverTLSBootstrap: true');
    expect(await run(['leave', '--config=config.yaml'], dir.path)).toMatchObject({ code: 0, err: '' });
    expect(await readFile(`${dir.path}/config.yaml`, 'utf8')).toBe(before);
    expect(await readdir(dir.path)).toEqual(['config.yaml']);
    // And it may join again.
    expect((await join(await newLine(), dir, 'own')).code).toBe(0);
  });

  test('a configuration that cannot be added to is reported before anything else', async () => {
    await using dir = await createTempDir('na-join-');
    await writeFile(`${dir.path}/config.yaml`, 'authentication: on\n');
    const { code, err } = await join(await newLine(), dir, 'bad');
    expect([code, err]).toEqual([1, expect.stringContaining('authentication must be a mapping')]);
    expect(await readdir(dir.path)).toEqual(['config.yaml']);
  });

  test('a wrong hash is reported, with the right one', async () => {
    await using dir = await createTempDir('na-join-');
    const line = await newLine();
    const right = line.at(-1) ?? '';
    const { code, err } = await join([...line.slice(0, -1), `sha256:${'0'.repeat(64)}`], dir, 'hash');
    expect(code).toBe(1);
    expect(err).toContain(`does not match --ca-cert-hash: found ${right}`);
  });

  test('a wrong secret is reported', async () => {
    await using dir = await createTempDir('na-join-');
    const line = (await newLine()).map((word) =>
      word.replace(/^([a-z0-9]{6})\.[a-z0-9]{16}$/, '$1.0000000000000000'),
    );
    const { code, err } = await join(line, dir, 'secret');
    expect(code).toBe(1);
    expect(err).toMatch(/the signature of cluster-info does not match the token/);
    expect(err).not.toContain('0000000000000000');
  });

  test('an unknown token is reported', async () => {
    await using dir = await createTempDir('na-join-');
    const line = (await newLine()).map((word) =>
      word.replace(/^[a-z0-9]{6}\.[a-z0-9]{16}$/, 'nobody.0000000000000000'),
    );
    const { code, err } = await join([...line, '--timeout=3s'], dir, 'unknown');
    expect(code).toBe(1);
    expect(err).toContain('is not signed with token nobody: the token has expired, is unknown to the server');
  });

  test('another server that repeats what it heard is found out', async () => {
    await using dir = await createTempDir('na-join-');
    const path = `/api/v1/namespaces/${words.publicNamespace}/configmaps/cluster-info`;
    const line = await newLine();
    const id = (line[line.indexOf('--token') + 1] ?? '').slice(0, 6);
    const isSigned = async (): Promise<boolean> =>
      `jws-kubeconfig-${id}` in (await plane.get(path)).body.data;
    await eventually(isSigned, { what: 'the token has signed' });
    const heard = (await plane.get(path)).text;
    const now = Date.now();
    const { authority } = createTestAuthority(now);
    const { certificate: cert, key } = issueIdentity(authority, {
      subject: { commonName: 'other' },
      ipAddresses: ['127.0.0.1'],
      extendedUsages: ['serverAuth'],
      notBefore: new Date(now - 1000),
      notAfter: new Date(now + 3_600_000),
    });
    const server = createServer({ cert, key }, (_, response) => response.end(heard));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { code, err } = await join(
      line.map((word) => (word.startsWith('https:') ? url : word)),
      dir,
      'mitm',
    );
    server.closeAllConnections();
    server.close();
    expect(code).toBe(1);
    expect(err).toContain('is not signed by the trusted CA');
  });

  test('an unavailable server is reported', async () => {
    await using dir = await createTempDir('na-join-');
    const line = (await newLine()).map((word) => (word.startsWith('https:') ? 'https://127.0.0.1:1' : word));
    const { code, out, err } = await join([...line, '--timeout=3s'], dir, 'away');
    expect(code).toBe(1);
    expect(out).toMatch(/^waiting for the API server at https:\/\/127.0.0.1:1 \(2 s\): .*ECONNREFUSED/m);
    expect(err).toMatch(
      /gave up after 3 s \(--timeout\): https:\/\/127.0.0.1:1 is unavailable: .*ECONNREFUSED/,
    );
  });

  test('waits for an administrator without automatic approval', async () => {
    await using dir = await createTempDir('na-join-');
    const binding = plane.path('rbac.authorization/v1', 'clusterrolebindings/system:joining-nodes-approval');
    await plane.delete(binding);
    const requested = Promise.withResolvers<string>();
    const joined = join(await newLine(), dir, 'patient', (text) => {
      const [, name] = /csr approve (\S+)/.exec(text) ?? [];
      if (name !== undefined) requested.resolve(name);
    });
    await serverCommand('csr', 'approve', await requested.promise);
    const { code, err } = await joined;
    expect([code, err]).toEqual([0, '']);
    const pem = await readFile(`${dir.path}/pki/nodeagent-client-current.pem`);
    expect(new X509Certificate(pem).subject).toContain('CN=system:node:patient');
  });

  test.each([
    [['join'], 'join requires one address'],
    [['join', 'https://a'], 'join requires --token TOKEN'],
    [['join', 'https://a', '--token', 'abcdef.0123456789abcdef'], 'join requires --ca-cert-hash'],
    [
      ['join', 'http://a', '--token', 'abcdef.0123456789abcdef', '--unsafe-skip-ca-verification'],
      'is not a server address',
    ],
    [['join', 'https://a', '--token', 'abc', '--unsafe-skip-ca-verification'], '--token: invalid format'],
  ])('%j is refused', async (argv, message) => {
    const { code, err } = await run(argv, '/');
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  });
});
