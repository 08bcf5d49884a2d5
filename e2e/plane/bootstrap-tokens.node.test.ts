/** Bootstrap tokens: machines with only a token join as nodes. Document 2 §3 and 5.9. */
import { createHash, createHmac, X509Certificate } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { runServerCommand } from '#plane/commands/run-command.ts';
import { requestData } from '#plane/resources/groups/certificates/requests.fixture.ts';
import { eventually } from '../../testing/wait.ts';
import { type Body, type Json, type Reply, usePlane, VOCABULARY_NAMES } from './support.ts';

const SECRET = '0123456789abcdef';

describe.each(VOCABULARY_NAMES)('%s', (vocabulary) => {
  const words = VOCABULARIES[vocabulary];
  const plane = usePlane(vocabulary, ['--enable-bootstrap-token-auth']);
  const secrets = `/api/v1/namespaces/${words.systemNamespace}/secrets`;
  const maps = `/api/v1/namespaces/${words.publicNamespace}/configmaps`;

  async function addToken(id: string, stringData: Json = {}): Promise<string> {
    const { status } = await plane.post(secrets, {
      metadata: { name: `bootstrap-token-${id}` },
      type: words.secretTypeBootstrapToken,
      stringData: {
        'token-id': id,
        'token-secret': SECRET,
        'usage-bootstrap-authentication': 'true',
        'usage-bootstrap-signing': 'true',
        ...stringData,
      },
    });
    expect(status).toBe(201);
    return `${id}.${SECRET}`;
  }

  /** The object at a path as soon as it is as wanted. */
  async function until(collection: string, name: string, wanted: (body: Body) => boolean): Promise<Body> {
    await using watch = await plane.watch(`${collection}?watch=1&fieldSelector=metadata.name=${name}`);
    for (;;) {
      const event = await watch.next();
      if (event === undefined) throw new Error('the watch ended');
      if (event.type === 'DELETED' || wanted(event.object)) return event.object;
    }
  }

  const signatureOf = ({ data }: Body, id: string): string | undefined => data[`jws-kubeconfig-${id}`];

  async function whoIs(token: string): Promise<Reply['body']> {
    const reviews = plane.path('authentication/v1', 'tokenreviews');
    return (await plane.post(reviews, { spec: { token } })).body;
  }

  test('a token has its user and groups', async () => {
    const token = await addToken('user00', { 'auth-extra-groups': 'system:bootstrappers:a' });
    expect((await whoIs(token)).status['user']).toEqual({
      username: 'system:bootstrap:user00',
      groups: ['system:bootstrappers', 'system:bootstrappers:a', 'system:authenticated'],
    });
  });

  test('cluster-info is for everybody, and signed with every token that is for that', async () => {
    await addToken('sign00');
    await addToken('silent', { 'usage-bootstrap-signing': 'false' });
    await until(maps, 'cluster-info', (body) => signatureOf(body, 'sign00') !== undefined);
    const { status, body } = await plane.as('').get(`${maps}/cluster-info`);
    expect(status).toBe(200);
    const content = body.data['kubeconfig'] ?? '';
    const { clusters } = JSON.parse(content) as { clusters: [{ cluster: Record<string, string> }] };
    const { ca } = plane.server.credentials();
    expect(clusters[0].cluster).toEqual({
      server: plane.server.url,
      'certificate-authority-data': Buffer.from(ca).toString('base64'),
    });
    const [header = '', , signature] = (signatureOf(body, 'sign00') ?? '').split('.');
    const key = vocabulary === 'kubernetes' ? SECRET : `sign00.${SECRET}`;
    const payload = Buffer.from(content).toString('base64url');
    expect(signature).toBe(createHmac('sha256', key).update(`${header}.${payload}`).digest('base64url'));
    expect(signatureOf(body, 'silent')).toBeUndefined();
    // Nothing else is for everybody.
    expect((await plane.as('').get(maps)).status).toBe(403);
    await plane.delete(`${secrets}/bootstrap-token-sign00`);
    await until(maps, 'cluster-info', (left) => signatureOf(left, 'sign00') === undefined);
  });

  test('an expired token does not authenticate, and is deleted', async () => {
    const token = await addToken('gone00', { expiration: '2020-01-01T00:00:00Z' });
    const { status } = await plane.as(token).get('/api/v1/nodes');
    expect(status).toBe(401);
    const path = `${secrets}/bootstrap-token-gone00`;
    await eventually(async () => (await plane.get(path)).status === 404, { what: 'the token has gone' });
  });

  test('a token for nodes gets its machine a certificate, and nothing more', async () => {
    const token = await addToken('join00', { 'auth-extra-groups': 'system:bootstrappers:nodes' });
    const machine = plane.as(token);
    const requests = plane.path('certificates/v1', 'certificatesigningrequests');
    // The bindings come after the start, and before this.
    await until(maps, 'cluster-info', () => true);
    const subject = { commonName: 'system:node:n1', organizations: ['system:nodes'] };
    const made = await machine.post(requests, {
      metadata: { name: 'n1' },
      spec: {
        request: requestData(subject),
        signerName: `${words.domain}/${words.nodeClientSigner}`,
        usages: ['key encipherment', 'digital signature', 'client auth'],
      },
    });
    expect(made.status).toBe(201);
    const signed = await until(requests, 'n1', ({ status }) => status['certificate'] !== undefined);
    const pem = Buffer.from(signed.status['certificate'] as string, 'base64');
    expect(new X509Certificate(pem).subject).toBe('O=system:nodes\nCN=system:node:n1');
    expect((await machine.get('/api/v1/secrets')).status).toBe(403);
  });
});

describe.each(VOCABULARY_NAMES)('commands in %s', (vocabulary) => {
  const plane = usePlane(vocabulary, ['--enable-bootstrap-token-auth']);

  async function run(command: 'token' | 'csr', ...argv: readonly string[]): Promise<string> {
    const lines: string[] = [];
    const code = await runServerCommand(command, [...argv, '--data-dir', plane.server.dir], (line) =>
      lines.push(line),
    );
    expect(code).toBe(0);
    return lines.join('\n');
  }

  test('a token is created with its join command, listed, and deleted', async () => {
    const line = await run('token', 'create', '--description', 'for n1');
    const { ca } = plane.server.credentials();
    const spki = new X509Certificate(ca).publicKey.export({ type: 'spki', format: 'der' });
    const [, url, token = '', hash] =
      /^nodeagent join (\S+)(?: --vocabulary \S+)? --token (\S+) --ca-cert-hash sha256:(\S+)$/.exec(line) ??
      [];
    expect([url, hash]).toEqual([plane.server.url, createHash('sha256').update(spki).digest('hex')]);
    await eventually(async () => (await plane.as(token).get('/api/v1/nodes')).status === 403);
    const [id = '', secret = ''] = token.split('.');
    const list = await run('token', 'list');
    expect(list).toMatch(
      new RegExp(`^${id} .*authentication,signing +for n1 +system:bootstrappers:nodes$`, 'm'),
    );
    expect(list).not.toContain(secret);
    expect(await run('token', 'delete', token)).toBe(`token ${id} deleted`);
    await expect(run('token', 'delete', id)).rejects.toThrow('not found');
  });

  test('a request is listed and decided', async () => {
    const path = plane.path('certificates/v1', 'certificatesigningrequests');
    for (const name of ['yes', 'no']) {
      const spec = { request: requestData({}), signerName: 'example.com/a', usages: ['client auth'] };
      await plane.post(path, { metadata: { name }, spec });
    }
    expect(await run('csr', 'approve', 'yes')).toBe('certificate request yes approved');
    expect(await run('csr', 'approve', 'yes')).toBe('certificate request yes approved');
    expect(await run('csr', 'deny', 'no')).toBe('certificate request no denied');
    await expect(run('csr', 'deny', 'yes')).rejects.toThrow('mutually exclusive');
    await expect(run('csr', 'deny', 'other')).rejects.toThrow(
      'there is no certificate request named "other"',
    );
    expect((await run('csr', 'list')).split('\n').map((line) => line.split(/ {2,}/).at(-1))).toEqual([
      'CONDITION',
      'Denied',
      'Approved',
    ]);
  });

  test('without a server the command reports it', async () => {
    const argv = ['list', '--data-dir', '/tmp/na-not-there'];
    await expect(runServerCommand('token', argv, () => undefined)).rejects.toThrow('is the server running');
  });
});

describe('without the flag', () => {
  const plane = usePlane();

  test('no token is created', async () => {
    const argv = ['create', '--data-dir', plane.server.dir];
    await expect(runServerCommand('token', argv, () => undefined)).rejects.toThrow(
      'start the server with --enable-bootstrap-token-auth',
    );
  });

  test('tokens are not accepted, and nothing is created for them', async () => {
    const { systemNamespace, publicNamespace, secretTypeBootstrapToken: type } = plane.words;
    const text = { 'token-id': 'abcdef', 'token-secret': SECRET, 'usage-bootstrap-authentication': 'true' };
    const made = await plane.post(`/api/v1/namespaces/${systemNamespace}/secrets`, {
      metadata: { name: 'bootstrap-token-abcdef' },
      type,
      stringData: text,
    });
    expect(made.status).toBe(201);
    expect((await plane.as(`abcdef.${SECRET}`).get('/api/v1/nodes')).status).toBe(401);
    const info = await plane.get(`/api/v1/namespaces/${publicNamespace}/configmaps/cluster-info`);
    expect(info.status).toBe(404);
  });
});
