/** Upstream's command-line client with a credential plugin, in every release of it on this machine. The plugin gets ID
 *  tokens or client certificates. Document 2 §2.4 and §5.8. */

import { readdirSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createIdentityProvider, type IdentityProvider } from '../authentication/identity-provider.ts';
import { type Json, usePlane } from '../plane/support.ts';
import { useKubectl } from './kubectl.ts';

const FOLDER = '/usr/lib/google-cloud-sdk/bin';
/** The one in `PATH` and those of the folder, if it exists. */
const programs = (): readonly string[] => {
  const names = readdirSync(FOLDER).filter((name) => /^kubectl\.\d/.test(name));
  return ['kubectl', ...names.map((name) => `${FOLDER}/${name}`)];
};

function installed(): readonly string[] {
  try {
    return programs();
  } catch {
    return ['kubectl'];
  }
}

let provider: IdentityProvider;
const plane = usePlane('kubernetes', async (dir) => {
  provider = await createIdentityProvider({
    clientId: 'cluster',
    algorithm: 'RS256',
    claims: ['email', 'groups'],
  });
  await provider.start();
  await writeFile(`${dir}/ca.pem`, provider.ca);
  return [
    `--oidc-issuer-url=${provider.issuer}`,
    '--oidc-client-id=cluster',
    `--oidc-ca-file=${dir}/ca.pem`,
    '--oidc-username-claim=email',
    '--oidc-groups-claim=groups',
  ];
});
const kubectl = useKubectl(() => plane.server.platconfigFile);
afterAll(() => provider[Symbol.asyncDispose]());

/** Counts its runs, checks what it is given, and prints the credential in a file. */
const pluginFor = (variable: string): string => `#!/bin/sh
set -e
dir=$(dirname "$0")
echo run >> "$dir/runs"
case "$${variable}" in *'"interactive":false'*) ;; *) echo "no exec info" >&2; exit 1 ;; esac
cat "$dir/$1"
`;

describe.each(installed())('%s with a credential plugin', (program) => {
  const configFile = (version: string, name: string): string => `${kubectl.dir()}/${version}-${name}.conf`;

  async function configure(version: string, name: string, status: object): Promise<void> {
    const apiVersion = `client.authentication.${plane.words.apiGroupDomain}/${version}`;
    const credential = { apiVersion, kind: 'ExecCredential', status };
    await writeFile(`${kubectl.dir()}/${version}-${name}.json`, JSON.stringify(credential));
    const config = JSON.parse(await readFile(plane.server.platconfigFile, 'utf8')) as Json;
    const exec = {
      apiVersion,
      command: './plugin',
      args: [`${version}-${name}.json`],
      interactiveMode: 'Never',
      provideClusterInfo: true,
    };
    const content = { ...config, users: [{ name: 'admin', user: { exec } }] };
    await writeFile(configFile(version, name), JSON.stringify(content));
  }

  beforeAll(async () => {
    await writeFile(`${kubectl.dir()}/plugin`, pluginFor(plane.words.execInfoVariable));
    await chmod(`${kubectl.dir()}/plugin`, 0o755);
    const token = await provider.idToken({ email: 'ann@example.com', groups: ['system:masters'] });
    const { cert, key } = plane.server.credentials();
    for (const version of ['v1beta1', 'v1']) {
      await configure(version, 'token', { token });
      await configure(version, 'certificate', { clientCertificateData: cert, clientKeyData: key });
      await configure(version, 'bad', { token: `${token.slice(0, -8)}AAAAAAAA` });
    }
  });

  async function run(version: string, name: string, args: string) {
    return kubectl.run(args, { program, env: { KUBECONFIG: configFile(version, name) } });
  }

  test.each([
    ['v1beta1', 'token'],
    ['v1', 'token'],
    ['v1beta1', 'certificate'],
    ['v1', 'certificate'],
  ])('of %s that returns a %s is authenticated', async (version, name) => {
    const { code, out, err } = await run(version, name, 'get namespaces -o name');
    expect([code, err]).toEqual([0, '']);
    expect(out.split('\n')).toContain('namespace/default');
  });

  test('is run again after a rejection, and reports it', async () => {
    const { code, err } = await run('v1', 'bad', 'get namespaces');
    expect(code).not.toBe(0);
    expect(err).toMatch(/Unauthorized|must be logged in/);
  });
});
