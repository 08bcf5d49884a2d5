/** Certificates of one purpose in `--cert-dir`. After a crash at any step the next start resumes; a key is
 *  never lost while a certificate for it exists or may be issued:
 *
 *      PREFIX.key.tmp                    the key, before a certificate is requested
 *      PREFIX-2026-01-31-23-59-59.pem    the certificate and its key, once issued
 *      PREFIX-current.pem                symbolic link to the newest of those
 *
 *  Source: upstream's certificate store. */
import { type KeyObject, X509Certificate } from 'node:crypto';
import { basename, join } from 'node:path';
import { parsePem } from '#api/pki/pem.ts';
import type { CertificateFiles } from './files.ts';
import { formatPrivateKey, type KeyType, makeKey, parsePrivateKey } from './keys.ts';

export interface StoredCertificate {
  /** PEM, including intermediate certificates. */
  readonly certificate: string;
  /** PEM. */
  readonly key: string;
  readonly x509: X509Certificate;
}

export interface CertificateStore {
  /** Symbolic link to the file with the newest certificate and its key. */
  readonly currentPath: string;
  /** `undefined` if there is no certificate with its key. */
  current(): Promise<StoredCertificate | undefined>;
  /** Returns the key for the next certificate: the pending one, or a new one, persisted. */
  pendingKey(type: KeyType): Promise<KeyObject>;
  /** Deletes the pending key: no certificate will be issued for it. */
  dropPendingKey(): Promise<void>;
  /** Makes a pair the current one. @throws Error if the key does not match the certificate */
  save(certificate: string, key: KeyObject): Promise<StoredCertificate>;
}

export interface StoreDeps {
  readonly files: CertificateFiles;
  readonly now: () => number;
}

/** Number of old certificates retained besides the current one. */
const KEPT = 3;
const SECOND_MS = 1000;

/** `2026-01-31-23-59-59`, in UTC. */
const formatDate = (atMs: number): string =>
  new Date(atMs).toISOString().slice(0, 19).replaceAll(/[T:]/g, '-');

/** Parses a certificate and its key from one or two texts; `undefined` if they are invalid or do not match. */
export function readPair(certificate: string, key: string): StoredCertificate | undefined {
  const blocks = parsePem(certificate).filter(({ label }) => label === 'CERTIFICATE');
  const found = parsePrivateKey(key);
  const [leaf] = blocks;
  if (leaf === undefined || found === undefined) return undefined;
  try {
    const x509 = new X509Certificate(leaf.der);
    if (!x509.checkPrivateKey(found)) return undefined;
    return { certificate: blocks.map(({ text }) => text).join(''), key: formatPrivateKey(found), x509 };
  } catch {
    return undefined;
  }
}

export function createCertificateStore(
  { files, now }: StoreDeps,
  { dir, prefix }: { readonly dir: string; readonly prefix: string },
): CertificateStore {
  const pendingPath = join(dir, `${prefix}.key.tmp`);
  const currentPath = join(dir, `${prefix}-current.pem`);
  const dated = (atMs: number): string => `${prefix}-${formatDate(atMs)}.pem`;

  /** Writes a text to a new file; its name is a second later if it exists already. */
  async function createDated(text: string): Promise<string> {
    for (let atMs = now(); ; atMs += SECOND_MS) {
      const name = dated(atMs);
      if (await files.create(join(dir, name), text)) return name;
    }
  }

  async function prune(newest: string): Promise<void> {
    const names = (await files.list(dir)).filter((name) => name !== newest && isDated(name)).toSorted();
    for (const name of names.slice(0, -KEPT)) await files.remove(join(dir, name));
  }

  const isDated = (name: string): boolean =>
    name.startsWith(`${prefix}-`) && /^\d{4}(-\d\d){5}\.pem$/.test(name.slice(prefix.length + 1));

  const readKey = async (): Promise<KeyObject | undefined> => {
    const text = await files.read(pendingPath);
    return text === undefined ? undefined : parsePrivateKey(text);
  };

  async function current(): Promise<StoredCertificate | undefined> {
    const text = await files.read(currentPath);
    return text === undefined ? undefined : readPair(text, text);
  }

  /** A file that replaced the link is renamed and retained. */
  async function keepOther(): Promise<void> {
    if ((await files.target(currentPath)) !== undefined) return;
    const text = await files.read(currentPath);
    if (text !== undefined) await createDated(text);
  }

  return {
    currentPath,
    current,
    async pendingKey(type) {
      const known = await readKey();
      // The pending key already has its certificate: a crash prevented its removal.
      if (known !== undefined && formatPrivateKey(known) !== (await current())?.key) return known;
      const key = await makeKey(type);
      await files.write(pendingPath, formatPrivateKey(key));
      return key;
    },
    dropPendingKey: () => files.remove(pendingPath),
    async save(certificate, key) {
      const pair = readPair(certificate, formatPrivateKey(key));
      if (pair === undefined)
        throw new Error(`the certificate for ${basename(currentPath)} does not match its key`);
      await keepOther();
      const name = await createDated(`${pair.certificate}${pair.key}`);
      await files.point(currentPath, name);
      const pending = await readKey();
      if (pending !== undefined && formatPrivateKey(pending) === pair.key) await files.remove(pendingPath);
      await prune(name);
      return pair;
    },
  };
}
