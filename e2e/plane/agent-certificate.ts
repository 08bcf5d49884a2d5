/** A serving certificate for the agent of a node, of the signer of an API server of the tests. */
import { readFile } from 'node:fs/promises';
import { type Identity, issueIdentity } from '#api/pki/certificate.ts';

const HOUR_MS = 3_600_000;

/** @param dir data directory of the server */
export async function agentCertificate(dir: string, nodeName: string): Promise<Identity> {
  const file = (end: string): Promise<string> => readFile(`${dir}/pki/node-serving-ca.${end}`, 'utf8');
  const authority = { certificate: await file('crt'), key: await file('key') };
  return issueIdentity(authority, {
    subject: { commonName: `system:node:${nodeName}`, organizations: ['system:nodes'] },
    ipAddresses: ['127.0.0.1'],
    extendedUsages: ['serverAuth'],
    notBefore: new Date(Date.now() - HOUR_MS),
    notAfter: new Date(Date.now() + HOUR_MS),
  });
}
