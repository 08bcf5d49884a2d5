/** An agent with nothing but a token becomes a node: its own certificate, its platconfig, its serving certificate.
 *  Document 2 §3 and 5.9. */
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:tls';
import { expect, inject, test } from 'vitest';
import { formatPlatconfig } from '#agent/certs/platconfig.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { runServerCommand } from '#plane/commands/run-command.ts';
import { startTestPlane } from '#plane/main.fixture.ts';
import { TestAgent } from '../../testing/agent.ts';
import { freePort } from '../../testing/free-port.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';

const words = VOCABULARIES.plat;
const REQUESTS = `/apis/certificates.${words.apiGroupDomain}/v1/certificatesigningrequests`;

/** The certificate that a server shows. */
async function shown(port: number): Promise<X509Certificate | undefined> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
  try {
    await once(socket, 'secureConnect');
    return socket.getPeerX509Certificate();
  } finally {
    socket.destroy();
  }
}

test('an agent joins with a token, and stays authenticated without it', async () => {
  await using plane = await startTestPlane(['--enable-bootstrap-token-auth']);
  const server = async (command: 'token' | 'csr', ...argv: readonly string[]): Promise<string> => {
    const lines: string[] = [];
    await runServerCommand(command, [...argv, '--data-dir', plane.dir], (line) => lines.push(line));
    return lines.join('\n');
  };
  const line = await eventually(() => server('token', 'create').catch(() => undefined));
  const [, token = ''] = /--token (\S+)/.exec(line) ?? [];
  const folder = await createTempDir('na-agent-');
  const bootstrap = `${folder.path}/bootstrap`;
  const tls = { authority: plane.credentials().ca, insecure: false };
  await writeFile(bootstrap, formatPlatconfig({ server: plane.url, tls }, { token }));
  const port = await freePort();
  await using agent = await TestAgent.create({
    endpoint: inject('criEndpoint'),
    folder,
    flags: [
      '--hostname-override=bootstrapped',
      `--platconfig=${folder.path}/platconfig`,
      `--bootstrap-kubeconfig=${bootstrap}`,
      `--cert-dir=${folder.path}/pki`,
      '--rotate-certificates',
      '--rotate-server-certificates',
      '--enable-server',
      '--address=127.0.0.1',
      `--port=${port}`,
      '--read-only-port=0',
    ],
  });
  const isNode = async (): Promise<boolean> => (await plane.get('/api/v1/nodes/bootstrapped')).status === 200;
  await eventually(isNode, { what: 'the node is registered' });

  // Approved automatically: the node requests its own registered addresses.
  const authority = new X509Certificate(await readFile(`${plane.dir}/pki/node-serving-ca.crt`));
  const isSigned = async (): Promise<boolean> => (await shown(port))?.checkIssued(authority) === true;
  await eventually(isSigned, { what: 'the server shows what was signed' });
  expect((await shown(port))?.subject).toBe('O=system:nodes\nCN=system:node:bootstrapped');

  // Neither the token nor a second request is needed at the next start.
  await agent.stop('SIGKILL');
  await writeFile(bootstrap, formatPlatconfig({ server: plane.url, tls }, { token: 'none' }));
  await plane.call('DELETE', '/api/v1/nodes/bootstrapped');
  await agent.start();
  await eventually(isNode, { what: 'the node is registered again' });
  await eventually(isSigned, { what: 'the server shows what was signed, at once' });
  const { items } = (await plane.get(REQUESTS)).json as { items: unknown[] };
  expect(items).toHaveLength(2);
});
