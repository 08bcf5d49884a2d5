import { lstat, readdir, readFile, readlink, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createTempDir } from '../../testing/temp.ts';
import { type CertificateFiles, certificateFiles } from './files.ts';
import { formatPrivateKey, makeKey } from './keys.ts';
import { createTestAuthority, Killed, killedAt } from './store.fixture.ts';
import { type CertificateStore, createCertificateStore } from './store.ts';

const NOW = Date.parse('2026-05-06T07:08:09Z');
const HOUR = 3_600_000;
const { issue } = createTestAuthority(NOW);

function open(dir: string, files: CertificateFiles = certificateFiles): CertificateStore {
  return createCertificateStore({ files, now: () => NOW }, { dir, prefix: 'x' });
}

/** The writes of obtaining a certificate, from any state of the store. */
async function getOne(store: CertificateStore): Promise<void> {
  const key = await store.pendingKey('ecdsa');
  await store.save(issue(key, 'n1', NOW, NOW + HOUR), key);
}

describe('createCertificateStore', () => {
  test('writes a dated file for root only, and a link to the newest', async () => {
    await using dir = await createTempDir('na-st-');
    const store = open(join(dir.path, 'pki'));
    expect(await store.current()).toBeUndefined();
    await getOne(store);
    expect((await readdir(join(dir.path, 'pki'))).toSorted()).toEqual([
      'x-2026-05-06-07-08-09.pem',
      'x-current.pem',
    ]);
    expect(await readlink(store.currentPath)).toBe('x-2026-05-06-07-08-09.pem');
    expect((await stat(store.currentPath)).mode & 0o777).toBe(0o600);
    expect((await stat(join(dir.path, 'pki'))).mode & 0o777).toBe(0o700);
    const found = await open(join(dir.path, 'pki')).current();
    expect(found?.x509.subject).toBe('O=system:nodes\nCN=n1');
    // A second certificate within the same second gets another name.
    await getOne(store);
    expect(await readlink(store.currentPath)).toBe('x-2026-05-06-07-08-10.pem');
  });

  test.each(['ecdsa', 'rsa'] as const)('takes keys of %s', async (type) => {
    await using dir = await createTempDir('na-st-');
    const store = open(dir.path);
    const key = await store.pendingKey(type);
    expect(key.asymmetricKeyType).toBe(type === 'rsa' ? 'rsa' : 'ec');
    await store.save(issue(key, 'n1', NOW, NOW + HOUR), key);
    expect((await store.current())?.key).toBe(formatPrivateKey(key));
  });

  test('returns the same pending key until there is a certificate for it', async () => {
    await using dir = await createTempDir('na-st-');
    const key = await open(dir.path).pendingKey('ecdsa');
    expect(formatPrivateKey(await open(dir.path).pendingKey('ecdsa'))).toBe(formatPrivateKey(key));
    await open(dir.path).save(issue(key, 'n1', NOW, NOW + HOUR), key);
    expect(formatPrivateKey(await open(dir.path).pendingKey('ecdsa'))).not.toBe(formatPrivateKey(key));
  });

  test('rejects a certificate of another key', async () => {
    await using dir = await createTempDir('na-st-');
    const store = open(dir.path);
    const other = await makeKey('ecdsa');
    const key = await store.pendingKey('ecdsa');
    await expect(store.save(issue(other, 'n1', NOW, NOW + HOUR), key)).rejects.toThrow(
      /does not match its key/,
    );
    expect(await store.current()).toBeUndefined();
  });

  test('is consistent after a kill at any step, and loses neither key nor certificate', async () => {
    let finished = false;
    for (let step = 0; !finished; step += 1) {
      await using dir = await createTempDir('na-st-');
      await getOne(open(dir.path));
      const before = await open(dir.path).current();
      const store = open(dir.path, killedAt(certificateFiles, step));
      const end: unknown = await getOne(store).then(
        () => 'finished',
        (thrown: unknown) => thrown,
      );
      finished = end === 'finished';
      expect(finished || end instanceof Killed).toBe(true);
      const after = await open(dir.path).current();
      expect(after, `after ${step} steps`).toBeDefined();
      // Either the old or the new one; the pending key exists as long as it is the old one.
      const pending = await certificateFiles.read(join(dir.path, 'x.key.tmp'));
      const isOld = after?.key === before?.key;
      expect(step === 0 || !isOld || pending !== undefined, `after ${step} steps`).toBe(true);
      expect(formatPrivateKey(await open(dir.path).pendingKey('ecdsa'))).not.toBe(after?.key);
      await getOne(open(dir.path));
      expect((await open(dir.path).current())?.key).not.toBe(before?.key);
      expect(await certificateFiles.read(join(dir.path, 'x.key.tmp'))).toBeUndefined();
    }
  });

  test('retains a file that replaced the link', async () => {
    await using dir = await createTempDir('na-st-');
    const key = await makeKey('ecdsa');
    const text = issue(key, 'mine', NOW, NOW + HOUR) + formatPrivateKey(key);
    await writeFile(join(dir.path, 'x-current.pem'), text);
    const store = open(dir.path);
    expect((await store.current())?.x509.subject).toContain('CN=mine');
    await getOne(store);
    expect((await lstat(store.currentPath)).isSymbolicLink()).toBe(true);
    expect(await readFile(join(dir.path, 'x-2026-05-06-07-08-09.pem'), 'utf8')).toBe(text);
  });

  test('retains a few old certificates, and does not touch files of others', async () => {
    await using dir = await createTempDir('na-st-');
    await writeFile(join(dir.path, 'x-mine.pem'), '');
    await writeFile(join(dir.path, 'y-2026-05-06-07-08-09.pem'), '');
    for (let round = 0; round < 7; round += 1) await getOne(open(dir.path));
    expect((await readdir(dir.path)).toSorted()).toEqual([
      'x-2026-05-06-07-08-10.pem',
      'x-2026-05-06-07-08-11.pem',
      'x-2026-05-06-07-08-12.pem',
      'x-2026-05-06-07-08-13.pem',
      'x-current.pem',
      'x-mine.pem',
      'y-2026-05-06-07-08-09.pem',
    ]);
  });

  test.each(['', 'rubbish', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'])(
    'has no certificate if the file is %j',
    async (text) => {
      await using dir = await createTempDir('na-st-');
      await writeFile(join(dir.path, 'x-current.pem'), text);
      expect(await open(dir.path).current()).toBeUndefined();
    },
  );
});
