/** Certificate requests: permission to approve, signing, and use of the certificates. Document 2 §2.5, 3 and
 *  5.10. */
import { X509Certificate } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { Agent } from 'undici';
import { afterAll, describe, expect, test } from 'vitest';
import { createKey, formatKey } from '#api/pki/certificate.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { type RequestTraits, requestData } from '#plane/resources/groups/certificates/requests.fixture.ts';
import { type Body, type Client, type Json, type Reply, usePlane, VOCABULARY_NAMES } from './support.ts';

interface Condition {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}

const conditionsOf = ({ status }: Body): readonly Condition[] =>
  (status['conditions'] ?? []) as readonly Condition[];

const NODE: RequestTraits = { commonName: 'system:node:n1', organizations: ['system:nodes'] };
const NODE_USAGES = ['key encipherment', 'digital signature', 'client auth'];
const HOUR_MS = 3_600_000;

describe.each(VOCABULARY_NAMES)('%s', (vocabulary) => {
  const { domain, apiServerClientSigner, nodeClientSigner, nodeServingSigner } = VOCABULARIES[vocabulary];
  const plane = usePlane(vocabulary, async (dir) => {
    await writeFile(
      `${dir}/tokens`,
      [
        'boot,boot,1,"system:bootstrappers"',
        'approver,approver,2',
        'wide,wide,3',
        'outsider,outsider,4',
        'signer,signer,5',
      ].join('\n'),
    );
    return ['--token-auth-file', `${dir}/tokens`, '--cluster-signing-duration=48h'];
  });
  const requests = plane.path('certificates/v1', 'certificatesigningrequests');
  const agents: Agent[] = [];
  afterAll(async () => {
    for (const agent of agents) await agent.destroy();
  });

  const csr = (name: string, signer: string, subject: RequestTraits, spec: Json = {}): Json => ({
    metadata: { name },
    spec: { request: requestData(subject), signerName: signer, usages: ['client auth'], ...spec },
  });

  function decide(name: string, type: string, client: Client = plane): Promise<Reply> {
    const conditions = [{ type, status: 'True', reason: 'Test', message: 'by the test' }];
    return client.patch(`${requests}/${name}/approval`, { status: { conditions } });
  }

  /** The request as soon as it is as wanted. */
  async function until(name: string, wanted: (body: Body) => boolean): Promise<Body> {
    await using watch = await plane.watch(`${requests}?watch=1&fieldSelector=metadata.name=${name}`);
    for (;;) {
      const event = await watch.next();
      if (event === undefined) throw new Error('the watch ended');
      if (wanted(event.object)) return event.object;
    }
  }

  const certificateOf = ({ status }: Body): string =>
    Buffer.from((status['certificate'] ?? '') as string, 'base64').toString();
  const isSigned = (body: Body): boolean => certificateOf(body) !== '';
  const hasFailed = (body: Body): boolean => conditionsOf(body).some(({ type }) => type === 'Failed');

  async function role(name: string, user: string, rules: readonly Json[]): Promise<void> {
    await plane.post(plane.path('rbac.authorization/v1', 'clusterroles'), { metadata: { name }, rules });
    await bind(name, { kind: 'User', name: user });
  }

  async function bind(name: string, subject: Json): Promise<void> {
    const reply = await plane.post(plane.path('rbac.authorization/v1', 'clusterrolebindings'), {
      metadata: { generateName: 'bind-' },
      roleRef: { apiGroup: `rbac.authorization.${plane.words.apiGroupDomain}`, kind: 'ClusterRole', name },
      subjects: [subject],
    });
    expect(reply.status).toBe(201);
  }

  const certificates = `certificates.${plane.words.apiGroupDomain}`;

  test('what is approved is signed, and gets its user in', async () => {
    const key = createKey();
    const subject = { commonName: 'jane', organizations: ['devs', 'ops'], key };
    await plane.post(requests, csr('jane', `${domain}/${apiServerClientSigner}`, subject));
    expect((await decide('jane', 'Approved')).status).toBe(200);
    const pem = certificateOf(await until('jane', isSigned));
    const certificate = new X509Certificate(pem);
    const lastsMs = Date.parse(certificate.validTo) - Date.now();
    expect([lastsMs > 47 * HOUR_MS, lastsMs <= 48 * HOUR_MS]).toEqual([true, true]);
    const { ca } = plane.server.credentials();
    const dispatcher = new Agent({ connect: { ca, cert: pem, key: formatKey(key) }, allowH2: false });
    agents.push(dispatcher);
    const refused = await plane.call('GET', '/api/v1/nodes', undefined, { dispatcher });
    expect(refused.body.message).toContain('User "jane" cannot list');
  });

  test('a shorter term is granted on request', async () => {
    const spec = { expirationSeconds: 3600 };
    await plane.post(requests, csr('short', `${domain}/${apiServerClientSigner}`, { commonName: 'a' }, spec));
    await decide('short', 'Approved');
    const { validTo } = new X509Certificate(certificateOf(await until('short', isSigned)));
    expect(Date.parse(validTo) - Date.now()).toBeLessThanOrEqual(HOUR_MS);
  });

  test('a request against the rules of its signer fails, and reports why', async () => {
    const usages = ['key encipherment', 'digital signature', 'server auth'];
    await plane.post(requests, csr('bare', `${domain}/${nodeServingSigner}`, NODE, { usages }));
    await decide('bare', 'Approved');
    const failed = conditionsOf(await until('bare', hasFailed)).find(({ type }) => type === 'Failed');
    expect(failed).toMatchObject({
      reason: 'SignerValidationFailure',
      message: 'DNS or IP subjectAltName is required',
    });
  });

  test('a node agent is approved automatically where a role permits it', async () => {
    await bind('system:node-bootstrapper', { kind: 'Group', name: 'system:bootstrappers' });
    const nodeclient = `system:certificates.${plane.words.apiGroupDomain}:certificatesigningrequests:nodeclient`;
    await bind(nodeclient, { kind: 'Group', name: 'system:bootstrappers' });
    const spec = { usages: NODE_USAGES };
    const boot = plane.as('boot');
    const made = await boot.post(requests, csr('n1', `${domain}/${nodeClientSigner}`, NODE, spec));
    expect(made.status).toBe(201);
    const signed = await until('n1', isSigned);
    expect(conditionsOf(signed)).toMatchObject([{ type: 'Approved', reason: 'AutoApproved' }]);
    // Only a bootstrapper has the right, and only to this kind of certificate.
    const person = csr('not-n1', `${domain}/${apiServerClientSigner}`, NODE, spec);
    await boot.post(requests, person);
    expect(conditionsOf((await plane.get(`${requests}/not-n1`)).body)).toEqual([]);
  });

  test('approval requires permission on the signer, or on all of its domain', async () => {
    const rules = (...names: readonly string[]): readonly Json[] => [
      {
        verbs: ['update', 'patch', 'get'],
        apiGroups: [certificates],
        resources: ['certificatesigningrequests/approval'],
      },
      ...(names.length === 0
        ? []
        : [{ verbs: ['approve'], apiGroups: [certificates], resources: ['signers'], resourceNames: names }]),
    ];
    await role('approver', 'approver', rules('example.com/one'));
    await role('wide', 'wide', rules('example.com/*'));
    await role('outsider', 'outsider', rules());
    const names = ['one', 'two', 'three'];
    for (const name of names) await plane.post(requests, csr(name, `example.com/${name}`, {}));
    const tries: readonly (readonly [string, string])[] = [
      ['outsider', 'one'],
      ['approver', 'two'],
      ['approver', 'one'],
      ['wide', 'three'],
    ];
    const replies: Reply[] = [];
    for (const [user, name] of tries) replies.push(await decide(name, 'Approved', plane.as(user)));
    expect(replies.map(({ status }) => status)).toEqual([403, 403, 200, 200]);
    expect(replies[0]?.body.message).toContain(
      'user not permitted to approve requests with signerName "example.com/one"',
    );
  });

  test('signing requires permission on the signer too', async () => {
    await role('signer', 'signer', [
      {
        verbs: ['patch', 'get'],
        apiGroups: [certificates],
        resources: ['certificatesigningrequests/status'],
      },
    ]);
    await plane.post(requests, csr('mine', 'example.com/mine', {}));
    await decide('mine', 'Approved');
    const conditions = [...conditionsOf((await plane.get(`${requests}/mine`)).body)];
    const failed = [...conditions, { type: 'Failed', status: 'True', reason: 'R', message: 'm' }];
    const fail = (): Promise<Reply> =>
      plane.as('signer').patch(`${requests}/mine/status`, { status: { conditions: failed } });
    expect((await fail()).body.message).toContain(
      'user not permitted to sign requests with signerName "example.com/mine"',
    );
    await role('signs', 'signer', [
      {
        verbs: ['sign'],
        apiGroups: [certificates],
        resources: ['signers'],
        resourceNames: ['example.com/*'],
      },
    ]);
    expect((await fail()).status).toBe(200);
  });

  test('certificates for system:masters are rejected', async () => {
    const subject = { commonName: 'jane', organizations: ['system:masters'] };
    const { status, body } = await plane.post(
      requests,
      csr('master', `${domain}/${apiServerClientSigner}`, subject),
    );
    expect([status, body.reason]).toEqual([403, 'Forbidden']);
    expect(body.message).toContain('with system:masters group is not allowed');
  });

  test('what is denied stays unsigned', async () => {
    await plane.post(requests, csr('denied', `${domain}/${apiServerClientSigner}`, { commonName: 'a' }));
    expect((await decide('denied', 'Denied')).status).toBe(200);
    const { status, body } = await decide('denied', 'Approved');
    expect([status, body.reason]).toEqual([422, 'Invalid']);
  });
});
