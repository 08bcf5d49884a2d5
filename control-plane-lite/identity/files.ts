/** The keys and certificates that a server makes for itself when nobody brings others: an authority, the serving
 *  certificate, and the administrator's way in. Kept in the data directory; private keys only for root. */
import { X509Certificate } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Identity, Subject } from '#api/pki/certificate.ts';
import { MASTERS_GROUP } from '../authn/users.ts';
import { formatPlatconfig } from './platconfig.ts';
import { readIfThere, writePrivate } from './private-files.ts';

export interface IdentityOptions {
  readonly dir: string;
  /** Names and addresses by which clients reach the server. */
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  /** Who this server is to the agents of nodes. */
  readonly nodeClientName: string;
  readonly nowMs: number;
}

export interface ServerIdentity {
  readonly authority: Identity;
  /** Signs the serving certificates of node agents, and nothing else: no client believes it about this server. */
  readonly nodeServingAuthority: Identity;
  readonly serving: Identity;
  /** Of an administrator. */
  readonly admin: Identity;
  /** Of an authority of its own, whose certificates prove that request headers tell who asks. */
  readonly requestHeaderAuthority: Identity;
  /** By which this server proves itself to extension servers. */
  readonly requestHeader: Identity;
  /** By which it proves itself to the agents of nodes. */
  readonly nodeClient: Identity;
}

/** Common name of the certificate by which the server proves itself to extension servers. */
export const REQUEST_HEADER_NAME = 'front-proxy-client';

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
const REQUEST_HEADER_CA = 'front-proxy-ca';
const NODE_CLIENT = 'apiserver-node-client';
const NODE_SERVING_CA = 'node-serving-ca';

/** Loads what is there and makes what is missing, out of date, or for other names.
 *  @throws Error that names the file which can't be read or written */
export async function loadIdentity(options: IdentityOptions): Promise<ServerIdentity> {
  const { dir, nowMs, dnsNames, ipAddresses } = options;
  await mkdir(join(dir, 'pki'), { recursive: true, mode: 0o700 });
  const certificates = await import('#api/pki/certificate.ts');
  const term = { notBefore: new Date(nowMs - BACKDATE_MS), notAfter: new Date(nowMs + CERTIFICATE_MS) };
  const authorityOf = (name: string, commonName: string): Promise<Identity> =>
    loadOrMake(
      dir,
      name,
      () => true,
      () => certificates.createAuthority({ commonName }, term.notBefore, new Date(nowMs + AUTHORITY_MS)),
    );
  const clientOf = (name: string, by: Identity, subject: Subject): Promise<Identity> =>
    loadOrMake(dir, name, goodBy(by, nowMs), () =>
      certificates.issueIdentity(by, { subject, extendedUsages: ['clientAuth'], ...term }),
    );
  const authority = await authorityOf(CA, 'control-plane-lite-ca');
  const nodeServingAuthority = await authorityOf(NODE_SERVING_CA, 'control-plane-lite-node-serving-ca');
  const requestHeaderAuthority = await authorityOf(REQUEST_HEADER_CA, 'front-proxy-ca');
  const good = goodBy(authority, nowMs);
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
        ...term,
      }),
  );
  const admin = await clientOf(ADMIN, authority, { commonName: 'admin', organizations: [MASTERS_GROUP] });
  const requestHeader = await clientOf(REQUEST_HEADER_NAME, requestHeaderAuthority, {
    commonName: REQUEST_HEADER_NAME,
  });
  const { nodeClientName: commonName } = options;
  const nodeClient = await loadOrMake(
    dir,
    NODE_CLIENT,
    (certificate) => good(certificate) && certificate.subject === `CN=${commonName}`,
    () =>
      certificates.issueIdentity(authority, {
        subject: { commonName },
        extendedUsages: ['clientAuth'],
        ...term,
      }),
  );
  return {
    authority,
    nodeServingAuthority,
    serving,
    admin,
    requestHeaderAuthority,
    requestHeader,
    nodeClient,
  };
}

/** Of this authority, and not about to run out. */
function goodBy({ certificate: by }: Identity, nowMs: number): (certificate: X509Certificate) => boolean {
  const root = new X509Certificate(by);
  return (certificate) =>
    Date.parse(certificate.validTo) - nowMs > RENEW_MS && certificate.verify(root.publicKey);
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
