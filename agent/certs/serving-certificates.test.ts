import { X509Certificate } from 'node:crypto';
import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import type { Identity } from '#api/pki/certificate.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createTempDir } from '../../testing/temp.ts';
import { certificateFiles } from './files.ts';
import { formatPrivateKey, makeKey } from './keys.ts';
import { openServingCertificates, type ServingDeps, type ServingOptions } from './serving-certificates.ts';
import { createTestAuthority, Killed, killedAt } from './store.fixture.ts';
import type { ServingNames } from './tls-source.ts';

const NOW = Date.parse('2026-05-06T07:08:09Z');
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const authority = createTestAuthority(NOW);

function setUp(dir: string) {
  const clock = createFakeClock(NOW);
  let names: ServingNames = { dnsNames: [], ipAddresses: ['10.0.0.1'] };
  const listeners = new Set<() => void>();
  const deps: ServingDeps = {
    clock,
    log: silentLogger,
    env: {},
    hasTerminal: false,
    passOn: () => undefined,
    vocabulary: VOCABULARIES.plat,
    userAgent: 'test/1',
    clientConfig: () => undefined,
    names: () => names,
    onNamesChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const options: ServingOptions = {
    nodeName: 'n1',
    certDir: join(dir, 'pki'),
    certFile: '',
    keyFile: '',
    bootstrap: false,
  };
  return {
    clock,
    deps,
    options,
    call: (next: ServingNames): void => {
      names = next;
      for (const listener of listeners) listener();
    },
  };
}

const x509Of = ({ certificate }: Identity): X509Certificate => new X509Certificate(certificate);

async function pairOf(name: string): Promise<Identity> {
  const key = await makeKey('ecdsa');
  return { certificate: authority.issue(key, name, NOW - HOUR, NOW + DAY), key: formatPrivateKey(key) };
}

describe('a self-signed certificate', () => {
  test('is created for the names of the node, and persisted', async () => {
    await using dir = await createTempDir('na-sv-');
    const { deps, options } = setUp(dir.path);
    const made = (await openServingCertificates(deps, options)).current();
    const x509 = x509Of(made);
    expect(x509.subjectAltName).toBe('DNS:n1, IP Address:10.0.0.1');
    expect(x509.verify(x509.publicKey)).toBe(true);
    expect(await readFile(join(options.certDir, 'nodeagent.crt'), 'utf8')).toBe(made.certificate);
    expect((await stat(join(options.certDir, 'nodeagent.key'))).mode & 0o777).toBe(0o600);
    expect((await openServingCertificates(deps, options)).current()).toEqual(made);
  });

  test('is replaced for another node, and if its key is lost', async () => {
    await using dir = await createTempDir('na-sv-');
    const { deps, options } = setUp(dir.path);
    const made = (await openServingCertificates(deps, options)).current();
    const other = (await openServingCertificates(deps, { ...options, nodeName: 'n2' })).current();
    expect(x509Of(other).subject).toBe('CN=n2');
    await writeFile(join(options.certDir, 'nodeagent.key'), made.key);
    const third = (await openServingCertificates(deps, { ...options, nodeName: 'n2' })).current();
    expect(third.certificate).not.toBe(other.certificate);
  });

  test('is consistent after a kill between its two files', async () => {
    await using dir = await createTempDir('na-sv-');
    const { deps, options } = setUp(dir.path);
    const files = killedAt(certificateFiles, 1);
    await expect(openServingCertificates({ ...deps, files }, options)).rejects.toBeInstanceOf(Killed);
    const { certificate, key } = (await openServingCertificates(deps, options)).current();
    expect(key).toBe(await readFile(join(options.certDir, 'nodeagent.key'), 'utf8'));
    expect(certificate).toBe(await readFile(join(options.certDir, 'nodeagent.crt'), 'utf8'));
  });

  test('is replaced while it serves, before its expiry and for other names', async () => {
    await using dir = await createTempDir('na-sv-');
    const { clock, deps, options, call } = setUp(dir.path);
    const source = await openServingCertificates(deps, options);
    const first = source.current();
    const stop = new AbortController();
    const running = source.run(stop.signal);
    let changed = Promise.withResolvers<Identity>();
    const end = source.onChange((pair) => changed.resolve(pair));
    call({ dnsNames: ['n1.example.org'], ipAddresses: ['10.0.0.2'] });
    const second = await changed.promise;
    expect(x509Of(second).subjectAltName).toBe('DNS:n1, DNS:n1.example.org, IP Address:10.0.0.2');
    expect(source.current()).toEqual(second);
    changed = Promise.withResolvers<Identity>();
    clock.jumpWall(350 * DAY);
    await clock.advance(3000);
    const third = await changed.promise;
    expect(Date.parse(x509Of(third).validTo)).toBeGreaterThan(NOW + 700 * DAY);
    end();
    stop.abort();
    await running;
    expect(first.key).not.toBe(third.key);
  });
});

describe('a certificate in files', () => {
  test('is read again when it is replaced, once both files match', async () => {
    await using dir = await createTempDir('na-sv-');
    const { deps, options } = setUp(dir.path);
    const [first, second] = [await pairOf('one'), await pairOf('two')];
    const certFile = join(dir.path, 'tls.crt');
    const keyFile = join(dir.path, 'tls.key');
    await writeFile(certFile, first.certificate);
    await writeFile(keyFile, first.key);
    const source = await openServingCertificates(deps, { ...options, certFile, keyFile });
    expect(source.current()).toEqual(first);
    const stop = new AbortController();
    const running = source.run(stop.signal);
    const changed = Promise.withResolvers<Identity>();
    source.onChange((pair) => changed.resolve(pair));
    await writeFile(`${certFile}.new`, second.certificate);
    await rename(`${certFile}.new`, certFile);
    expect(source.current()).toEqual(first);
    await writeFile(`${keyFile}.new`, second.key);
    await rename(`${keyFile}.new`, keyFile);
    expect(await changed.promise).toEqual(second);
    stop.abort();
    await running;
  });

  test('must exist, and be a pair', async () => {
    await using dir = await createTempDir('na-sv-');
    const { deps, options } = setUp(dir.path);
    const certFile = join(dir.path, 'tls.crt');
    const keyFile = join(dir.path, 'tls.key');
    const open = () => openServingCertificates(deps, { ...options, certFile, keyFile });
    await expect(open()).rejects.toThrow(`certificate file ${certFile} not found`);
    await writeFile(certFile, (await pairOf('one')).certificate);
    await expect(open()).rejects.toThrow(`key file ${keyFile} not found`);
    await writeFile(keyFile, (await pairOf('two')).key);
    await expect(open()).rejects.toThrow('are not a certificate and its key');
  });
});
