/** The keys and certificates that a server makes for itself when nobody brings others: an authority, the serving
 *  certificate, and the administrator's way in. Kept in the data directory; private keys only for root. */
import { X509Certificate } from 'node:crypto';
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Identity } from '#api/pki/certificate.ts';
import { formatPlatconfig } from './platconfig.ts';

export interface IdentityOptions {
  readonly dir: string;
  /** Names and addresses by which clients reach the server. */
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly nowMs: number;
}

export interface ServerIdentity {
  readonly authority: Identity;
  readonly serving: Identity;
  /** Of an administrator. */
  readonly admin: Identity;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const AUTHORITY_MS = 10 * 365 * DAY_MS;
const CERTIFICATE_MS = 365 * DAY_MS;
/** Made anew when no more than this is left. */
const RENEW_MS = 30 * DAY_MS;
/** Clocks of clients may be behind ours. */
const BACKDATE_MS = 60 * 60 * 1000;

const CA = 'ca';
const SERVING = 'apiserver';
const ADMIN = 'admin';

/** Loads what is there and makes what is missing, out of date, or for other names.
 *  @throws Error that names the file which can't be read or written */
export async function loadIdentity(options: IdentityOptions): Promise<ServerIdentity> {
  const { dir, nowMs, dnsNames, ipAddresses } = options;
  await mkdir(join(dir, 'pki'), { recursive: true, mode: 0o700 });
  const certificates = await import('#api/pki/certificate.ts');
  const notBefore = new Date(nowMs - BACKDATE_MS);
  const notAfter = new Date(nowMs + CERTIFICATE_MS);
  const authority = await loadOrMake(
    dir,
    CA,
    () => true,
    () =>
      certificates.createAuthority(
        { commonName: 'control-plane-lite-ca' },
        notBefore,
        new Date(nowMs + AUTHORITY_MS),
      ),
  );
  const root = new X509Certificate(authority.certificate);
  const good = (certificate: X509Certificate): boolean =>
    Date.parse(certificate.validTo) - nowMs > RENEW_MS && certificate.verify(root.publicKey);
  const serving = await loadOrMake(
    dir,
    SERVING,
    (certificate) => good(certificate) && isFor(certificate, options),
    () =>
      certificates.issueIdentity(authority, {
        subject: { commonName: 'control-plane-lite' },
        dnsNames,
        ipAddresses,
        extendedUsages: ['serverAuth'],
        notBefore,
        notAfter,
      }),
  );
  const admin = await loadOrMake(dir, ADMIN, good, () =>
    certificates.issueIdentity(authority, {
      subject: { commonName: 'admin', organizations: ['system:masters'] },
      extendedUsages: ['clientAuth'],
      notBefore,
      notAfter,
    }),
  );
  return { authority, serving, admin };
}

/** Writes the file with which an administrator gets in; returns its path. */
export async function writeAdminPlatconfig(
  dir: string,
  { authority, admin }: ServerIdentity,
  url: string,
): Promise<string> {
  const file = join(dir, 'admin.platconfig');
  await writePrivate(file, formatPlatconfig({ url, authority: authority.certificate, client: admin }));
  return file;
}

const isFor = (certificate: X509Certificate, { dnsNames, ipAddresses }: IdentityOptions): boolean =>
  dnsNames.every((name) => certificate.checkHost(name) !== undefined) &&
  ipAddresses.every((address) => certificate.checkIP(address) !== undefined);

async function loadOrMake(
  dir: string,
  name: string,
  isGood: (certificate: X509Certificate) => boolean,
  make: () => Identity,
): Promise<Identity> {
  const certificateFile = join(dir, 'pki', `${name}.crt`);
  const keyFile = join(dir, 'pki', `${name}.key`);
  const [certificate, key] = await Promise.all([readIfThere(certificateFile), readIfThere(keyFile)]);
  if (certificate !== undefined && key !== undefined && isGood(parse(certificate, certificateFile))) {
    return { certificate, key };
  }
  const made = make();
  await writePrivate(keyFile, made.key);
  await writePrivate(certificateFile, made.certificate);
  return made;
}

function parse(pem: string, file: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (cause) {
    throw new Error(`${file} holds no certificate; remove it to have a new one made`, { cause });
  }
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return undefined;
    throw thrown;
  }
}

/** Whole or not at all, and never readable for others. */
async function writePrivate(file: string, text: string): Promise<void> {
  const temporary = `${file}.new`;
  {
    await using handle = await open(temporary, 'w', 0o600);
    await handle.chmod(0o600);
    await handle.writeFile(text);
    await handle.sync();
  }
  await rename(temporary, file);
  await using folder = await open(dirname(file));
  await folder.sync();
}
