import { X509Certificate } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createTempDir } from '../../testing/temp.ts';
import { type IdentityOptions, loadIdentity, writeAdminPlatconfig } from './files.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');
const DAY_MS = 86_400_000;
const optionsOf = (dir: string): IdentityOptions => ({
  dir,
  dnsNames: ['localhost'],
  ipAddresses: ['127.0.0.1'],
  nodeClientName: 'server',
  nowMs: NOW,
});

describe('loadIdentity', () => {
  test('generates missing files, for root alone, and reuses them', async () => {
    await using dir = await createTempDir('na-cpl-id-');
    const options = optionsOf(dir.path);
    const made = await loadIdentity(options);
    const serving = new X509Certificate(made.serving.certificate);
    expect(serving.checkIssued(new X509Certificate(made.serverAuthority.certificate))).toBe(true);
    // A certificate of a client authenticates no server.
    expect(serving.verify(new X509Certificate(made.authority.certificate).publicKey)).toBe(false);
    const platconfigFile = await writeAdminPlatconfig(dir.path, made, 'https://127.0.0.1:6443');
    const front = new X509Certificate(made.requestHeader.certificate);
    expect(front.subject).toBe('CN=front-proxy-client');
    expect(front.checkIssued(new X509Certificate(made.requestHeaderAuthority.certificate))).toBe(true);
    // Authentication by one CA grants nothing at the other.
    expect(front.verify(new X509Certificate(made.authority.certificate).publicKey)).toBe(false);
    const nodeClient = new X509Certificate(made.nodeClient.certificate);
    expect(nodeClient.subject).toBe('CN=server');
    expect(nodeClient.checkIssued(new X509Certificate(made.authority.certificate))).toBe(true);
    const keys = [
      'ca',
      'server-ca',
      'node-serving-ca',
      'apiserver',
      'admin',
      'front-proxy-ca',
      'front-proxy-client',
      'apiserver-node-client',
    ];
    const files = ['admin.platconfig', ...keys.map((name) => `${name}.key`)];
    const modes = await Promise.all(
      files.map(async (file) => (await stat(join(options.dir, file))).mode & 0o777),
    );
    expect(modes).toEqual(files.map(() => 0o600));
    const config = JSON.parse(await readFile(platconfigFile, 'utf8')) as {
      clusters: { cluster: { server: string } }[];
    };
    expect(config.clusters[0]?.cluster.server).toBe('https://127.0.0.1:6443');
    expect(await loadIdentity(options)).toEqual(made);
  });

  test('renews certificates for other names and before they expire, with the same CA', async () => {
    await using dir = await createTempDir('na-cpl-id-');
    const options = optionsOf(dir.path);
    const first = await loadIdentity(options);
    const named = await loadIdentity({ ...options, dnsNames: ['localhost', 'api.example.org'] });
    expect(named.serving).not.toEqual(first.serving);
    expect(named.authority).toEqual(first.authority);
    const later = await loadIdentity({ ...options, nowMs: NOW + 340 * DAY_MS });
    expect(later.serving).not.toEqual(named.serving);
    expect(later.authority).toEqual(first.authority);
  });

  test('names a file that is damaged', async () => {
    await using dir = await createTempDir('na-cpl-id-');
    const options = optionsOf(dir.path);
    await loadIdentity(options);
    await writeFile(join(options.dir, 'apiserver.crt'), 'rubbish');
    await expect(loadIdentity(options)).rejects.toThrow(/apiserver\.crt contains no certificate/);
  });
});
