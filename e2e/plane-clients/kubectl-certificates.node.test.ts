/** Upstream's command-line client gets a user certificate: request by openssl, approval, use. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { eventually } from '../../testing/wait.ts';
import { usePlane } from '../plane/support.ts';
import { useKubectl } from './kubectl.ts';

const { domain, apiServerClientSigner } = VOCABULARIES.kubernetes;
const plane = usePlane('kubernetes');
const { ok, dir } = useKubectl(() => plane.server.platconfigFile);
const openssl = (...args: readonly string[]) => promisify(execFile)('openssl', args, { cwd: dir() });

/** Requests a certificate for a user of a group. */
async function requestFor(user: string, group: string): Promise<void> {
  await openssl(
    'req',
    '-new',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    `${user}.key`,
    '-out',
    `${user}.csr`,
    '-subj',
    `/O=${group}/CN=${user}`,
  );
  const request = (await readFile(`${dir()}/${user}.csr`)).toString('base64');
  const object = {
    apiVersion: `certificates.${VOCABULARIES.kubernetes.apiGroupDomain}/v1`,
    kind: 'CertificateSigningRequest',
    metadata: { name: user },
    spec: { request, signerName: `${domain}/${apiServerClientSigner}`, usages: ['client auth'] },
  };
  await ok('create -f -', { input: object });
}

test('an approved request gives its user access', async () => {
  await requestFor('jane', 'devs');
  expect(await ok('get csr jane')).toContain('Pending');
  expect(await ok('certificate approve jane')).toContain('/jane approved');
  const certificate = await eventually(async () => {
    const encoded = await ok(['get', 'csr', 'jane', '-o', 'jsonpath={.status.certificate}']);
    return encoded === '' ? undefined : Buffer.from(encoded, 'base64');
  });
  expect(await ok('get csr jane')).toContain('Approved,Issued');
  await writeFile(`${dir()}/jane.crt`, certificate);
  await ok('create clusterrole readers --verb=get,list --resource=configmaps');
  await ok('create clusterrolebinding devs --clusterrole=readers --group=devs');
  const config = `${dir()}/jane.conf`;
  await writeFile(config, await readFile(plane.server.platconfigFile));
  const jane = { env: { KUBECONFIG: config } };
  await ok(
    'config set-credentials admin --client-certificate=jane.crt --client-key=jane.key --embed-certs',
    jane,
  );
  expect(await ok('auth can-i list configmaps', jane)).toBe('yes');
  expect(await ok('get configmaps -n kube-public', jane)).toBeDefined();
});

test('a denied request stays without a certificate', async () => {
  await requestFor('eve', 'system:masters-to-be');
  expect(await ok('certificate deny eve')).toContain('denied');
  expect(await ok('get csr eve')).toContain('Denied');
  expect(await ok(['get', 'csr', 'eve', '-o', 'jsonpath={.status.certificate}'])).toBe('');
});
