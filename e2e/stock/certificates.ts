/** Replacement for the certificate controllers of a cluster: approves and signs requests with openssl. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { eventually } from '../../testing/wait.ts';
import type { Body } from '../plane/support.ts';
import type { UpstreamServer } from './api-server.ts';

const WORDS = VOCABULARIES.kubernetes;
const REQUESTS = `/apis/certificates.${WORDS.apiGroupDomain}/v1/certificatesigningrequests`;

export const CLIENT_SIGNER: string = `${WORDS.domain}/${WORDS.nodeClientSigner}`;
export const SERVING_SIGNER: string = `${WORDS.domain}/${WORDS.nodeServingSigner}`;

const USAGES: Readonly<Record<string, string>> = {
  [CLIENT_SIGNER]: 'clientAuth',
  [SERVING_SIGNER]: 'serverAuth',
};

async function issue({ dir }: UpstreamServer, request: string, signer: string): Promise<string> {
  const names = `${dir}/request`;
  await writeFile(`${names}.csr`, Buffer.from(request, 'base64'));
  await writeFile(
    `${names}.cnf`,
    `keyUsage=critical,digitalSignature,keyEncipherment\nextendedKeyUsage=${USAGES[signer]}\n`,
  );
  const authority = ['-CA', `${dir}/ca.crt`, '-CAkey', `${dir}/ca.key`, '-CAcreateserial', '-days', '1'];
  const files = ['-in', `${names}.csr`, '-out', `${names}.crt`, '-extfile', `${names}.cnf`];
  await promisify(execFile)('openssl', ['x509', '-req', ...files, ...authority, '-copy_extensions', 'copy']);
  return await readFile(`${names}.crt`, 'base64');
}

/** Waits for a pending request to the signer, and approves and signs it. Returns its user. */
export async function grantRequest(server: UpstreamServer, signer: string): Promise<string> {
  const found = await eventually(
    async () => {
      const { body } = await server.call('GET', REQUESTS);
      return body.items.find(
        ({ spec, status }) => spec['signerName'] === signer && status['conditions'] === undefined,
      );
    },
    { timeoutMs: 30_000, what: `a client requests a certificate from ${signer}` },
  );
  const path = `${REQUESTS}/${found.metadata.name ?? ''}`;
  const put = async (subresource: string, body: Body, status: object): Promise<Body> => {
    const reply = await server.call('PUT', `${path}/${subresource}`, {
      ...body,
      status: { ...body.status, ...status },
    });
    if (reply.status !== 200) throw new Error(`${subresource}: ${reply.text}`);
    return reply.body;
  };
  const approval = { type: 'Approved', status: 'True', reason: 'ByHand', message: 'by the test' };
  const approved = await put('approval', found, { conditions: [approval] });
  await put('status', approved, {
    certificate: await issue(server, String(found.spec['request']), signer),
  });
  return String(found.spec['username']);
}
