/** Replacement of the certificate authorities while a node is joined: it stays ready, and the server and the agent
 *  authenticate each other, before, during and after. */
import { X509Certificate } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { Agent, request } from 'undici';
import { expect, inject, test } from 'vitest';
import { formatPlatconfig } from '#agent/certs/platconfig.ts';
import { parsePem } from '#api/pki/pem.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { runCertificatesCommand } from '#plane/commands/certificates.ts';
import { runServerCommand } from '#plane/commands/run-command.ts';
import { startTestPlane } from '#plane/main.fixture.ts';
import { rootCaName } from '#plane/resources/core/root-ca-name.ts';
import { TestAgent } from '../../testing/agent.ts';
import { freePort } from '../../testing/free-port.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';

const words = VOCABULARIES.plat;
const NODE = 'rolled';
/** Certificates of nodes are renewed within this time, so that the test sees it. */
const SHORT = '40s';

interface PlatconfigParts {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

const decode = (text: string): string => Buffer.from(text, 'base64').toString();

/** The administrator's credentials, as a client that starts now gets them. */
async function adminParts(file: string): Promise<PlatconfigParts> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server under test wrote it
  const { clusters, users } = JSON.parse(await readFile(file, 'utf8')) as {
    clusters: [{ cluster: { 'certificate-authority-data': string } }];
    users: [{ user: { 'client-certificate-data': string; 'client-key-data': string } }];
  };
  const [{ cluster }] = clusters;
  const [{ user }] = users;
  return {
    ca: decode(cluster['certificate-authority-data']),
    cert: decode(user['client-certificate-data']),
    key: decode(user['client-key-data']),
  };
}

test('a joined node stays ready while all authorities are replaced', { timeout: 240_000 }, async () => {
  await using plane = await startTestPlane([
    '--enable-bootstrap-token-auth',
    `--cluster-signing-duration=${SHORT}`,
  ]);
  const certificates = (action: string): Promise<number> =>
    runCertificatesCommand([action, '--data-dir', plane.dir], Date.now(), () => undefined);
  const former = await adminParts(plane.platconfigFile);
  const lines: string[] = [];
  await eventually(() =>
    runServerCommand('token', ['create', '--data-dir', plane.dir], (line) => lines.push(line)).then(
      () => true,
      () => false,
    ),
  );
  const [, token = ''] = /--token (\S+)/.exec(lines.join('\n')) ?? [];
  const folder = await createTempDir('na-agent-');
  const [bootstrap, platconfig, clientCa] = ['bootstrap', 'platconfig', 'cluster-ca.crt'].map(
    (name) => `${folder.path}/${name}`,
  ) as [string, string, string];
  const tls = { authority: former.ca, insecure: false };
  await writeFile(bootstrap, formatPlatconfig({ server: plane.url, tls }, { token }));
  await writeFile(clientCa, former.ca);
  await using agent = await TestAgent.create({
    endpoint: inject('criEndpoint'),
    folder,
    flags: [
      `--hostname-override=${NODE}`,
      `--platconfig=${platconfig}`,
      `--bootstrap-kubeconfig=${bootstrap}`,
      `--cert-dir=${folder.path}/pki`,
      '--rotate-certificates',
      '--rotate-server-certificates',
      '--enable-server',
      `--client-ca-file=${clientCa}`,
      '--anonymous-auth=false',
      '--authentication-token-webhook=true',
      '--authorization-mode=Webhook',
      '--node-status-update-frequency=2s',
      `--port=${await freePort()}`,
      '--read-only-port=0',
    ],
  });

  /** With connections of its own: only new handshakes tell. */
  async function get(parts: PlatconfigParts, path: string): Promise<{ status: number; text: string }> {
    const dispatcher = new Agent({ connect: { ...parts } });
    try {
      const { statusCode, body } = await request(plane.url + path, { dispatcher });
      return { status: statusCode, text: await body.text() };
    } finally {
      await dispatcher.destroy();
    }
  }
  const lease = `/apis/coordination.${words.apiGroupDomain}/v1/namespaces/${words.nodeLeaseNamespace}/leases/${NODE}`;
  /** The agent authenticates to the server, and the server to the agent. */
  async function bothWork(parts: PlatconfigParts): Promise<void> {
    const since = Date.now();
    await eventually(async () => (await get(parts, `/api/v1/nodes/${NODE}/proxy/healthz`)).text === 'ok', {
      what: 'the agent responds to the server',
    });
    await eventually(
      async () => {
        const { text } = await get(parts, lease);
        const renewed = /"renewTime":"([^"]+)"/.exec(text)?.[1] ?? '';
        return Date.parse(renewed) > since;
      },
      { what: 'the node renews its lease', timeoutMs: 60_000 },
    );
    expect((await get(parts, `/api/v1/nodes/${NODE}`)).text).toMatch(
      /"status":"True","type":"Ready"|"type":"Ready","status":"True"/,
    );
  }
  const nodeCertificate = async (): Promise<X509Certificate> =>
    new X509Certificate(await readFile(`${folder.path}/pki/nodeagent-client-current.pem`));
  const publicKeyOf = async (name: string) =>
    new X509Certificate(await readFile(`${plane.dir}/pki/${name}.crt`)).publicKey;
  await bothWork(former);

  await certificates('rotate');
  await eventually(async () => parsePem((await adminParts(plane.platconfigFile)).ca).length === 2);
  const next = await adminParts(plane.platconfigFile);
  expect(next.cert).not.toBe(former.cert);
  await bothWork(former);
  await bothWork(next);
  const published = `/api/v1/namespaces/default/configmaps/${rootCaName(words)}`;
  await eventually(async () => {
    const { text } = await get(next, published);
    return text.split('BEGIN CERTIFICATE').length === 3;
  });
  const info = `/api/v1/namespaces/${words.publicNamespace}/configmaps/cluster-info`;
  const both = Buffer.from(next.ca).toString('base64');
  await eventually(async () => (await get(next, info)).text.includes(both));
  const renewed = async (): Promise<boolean> => (await nodeCertificate()).verify(await publicKeyOf('ca'));
  await eventually(renewed, { what: 'the node renews its certificate', timeoutMs: 90_000 });
  await bothWork(next);

  // What the guide says: the new authorities are distributed before the former ones are dropped.
  await writeFile(clientCa, next.ca);
  const config = await readFile(platconfig, 'utf8');
  await writeFile(platconfig, config.replace(Buffer.from(former.ca).toString('base64'), both));
  await agent.stop('SIGTERM');
  await agent.start();
  await bothWork(next);

  await certificates('finish');
  await eventually(async () => parsePem((await adminParts(plane.platconfigFile)).ca).length === 1);
  const last = await adminParts(plane.platconfigFile);
  await bothWork(last);
  await bothWork(next);
  // The former ones open nothing.
  await expect(get(former, '/version')).rejects.toThrow(/certificate/);
  expect((await get({ ...former, ca: last.ca }, '/api/v1/namespaces')).status).toBe(401);
});
