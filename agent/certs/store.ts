/** The certificates of one purpose in `--cert-dir`. Each step leaves the folder so that the next start goes on from
 *  there; a key that a certificate was or may be asked for is never lost:
 *
 *      PREFIX.key.tmp                    the key, before anybody is asked for a certificate
 *      PREFIX-2026-01-31-23-59-59.pem    the certificate and its key, once it is issued
 *      PREFIX-current.pem                symbolic link to the newest one of those
 *
 *  Source: upstream's certificate store. */
import { type KeyObject, X509Certificate } from 'node:crypto';
import { basename, join } from 'node:path';
import { parsePem } from '#api/pki/pem.ts';
import type { CertificateFiles } from './files.ts';
import { formatPrivateKey, type KeyType, makeKey, parsePrivateKey } from './keys.ts';

export interface StoredCertificate {
  /** PEM, with the certificates between it and its authority. */
  readonly certificate: string;
  /** PEM. */
  readonly key: string;
  readonly x509: X509Certificate;
}

export interface CertificateStore {
  /** Symbolic link to the file with the newest certificate and its key. */
  readonly currentPath: string;
  /** `undefined` if there is none, or none with its key. */
  current(): Promise<StoredCertificate | undefined>;
  /** The key that the next certificate is for: the one that is waiting for it, or a new one, on the disk. */
  pendingKey(type: KeyType): Promise<KeyObject>;
  /** Gives up the waiting key: no certificate will come for it. */
  dropPendingKey(): Promise<void>;
  /** Makes a pair the current one. @throws Error if the key is not the certificate's */
  save(certificate: string, key: KeyObject): Promise<StoredCertificate>;
}

export interface StoreDeps {
  readonly files: CertificateFiles;
  readonly now: () => number;
}

/** Old certificates that are kept beside the current one. */
const KEPT = 3;
const SECOND_MS = 1000;

/** `2026-01-31-23-59-59`, in UTC. */
const formatDate = (atMs: number): string =>
  new Date(atMs).toISOString().slice(0, 19).replaceAll(/[T:]/g, '-');

/** A certificate and its key from one text or two; `undefined` if they are none or do not belong together. */
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

  /** A file of its own for a text; its name is a second later where there is one already. */
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

  /** A file that somebody put in the place of the link is kept under a name of its own. */
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
      // One that has its certificate was only not removed any more.
      if (known !== undefined && formatPrivateKey(known) !== (await current())?.key) return known;
      const key = await makeKey(type);
      await files.write(pendingPath, formatPrivateKey(key));
      return key;
    },
    dropPendingKey: () => files.remove(pendingPath),
    async save(certificate, key) {
      const pair = readPair(certificate, formatPrivateKey(key));
      if (pair === undefined)
        throw new Error(`the certificate for ${basename(currentPath)} is not its key's`);
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
