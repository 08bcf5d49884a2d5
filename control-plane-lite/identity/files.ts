/** Keys and certificates that a server generates unless they are configured: a CA, the serving certificate,
 *  and the administrator's credentials. Stored in the data directory; private keys are readable by root
 *  only. */
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
  /** User name of this server towards node agents. */
  readonly nodeClientName: string;
  readonly nowMs: number;
}

export interface ServerIdentity {
  readonly authority: Identity;
  /** Signs the serving certificates of node agents, and nothing else: no client trusts it for this server. */
  readonly nodeServingAuthority: Identity;
  readonly serving: Identity;
  /** Client certificate of an administrator. */
  readonly admin: Identity;
  /** Front-proxy CA: its certificates authenticate the request headers that name the user. */
  readonly requestHeaderAuthority: Identity;
  /** Client certificate of this server towards extension servers. */
  readonly requestHeader: Identity;
  /** Client certificate of this server towards node agents. */
  readonly nodeClient: Identity;
}

/** Common name of this server's client certificate towards extension servers. */
export const REQUEST_HEADER_NAME = 'front-proxy-client';

const DAY_MS = 24 * 60 * 60 * 1000;
const AUTHORITY_MS = 10 * 365 * DAY_MS;
const CERTIFICATE_MS = 365 * DAY_MS;
/** Certificates are renewed when no more than this is left, in ms. */
const RENEW_MS = 30 * DAY_MS;
/** Tolerance for clients whose clocks are behind, in ms. */
const BACKDATE_MS = 60 * 60 * 1000;

const CA = 'ca';
const SERVING = 'apiserver';
const ADMIN = 'admin';
const REQUEST_HEADER_CA = 'front-proxy-ca';
const NODE_CLIENT = 'apiserver-node-client';
const NODE_SERVING_CA = 'node-serving-ca';

/** Loads existing files and generates those that are missing, expiring, or for other names.
 *  @throws Error that names the unreadable or unwritable file */
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

/** Reports whether the certificate is signed by this CA, and not about to expire. */
function goodBy({ certificate: by }: Identity, nowMs: number): (certificate: X509Certificate) => boolean {
  const root = new X509Certificate(by);
  return (certificate) =>
    Date.parse(certificate.validTo) - nowMs > RENEW_MS && certificate.verify(root.publicKey);
}

/** Writes the administrator's platconfig; returns its path. */
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
    throw new Error(`${file} contains no certificate; remove it to generate a new one`, { cause });
  }
}
