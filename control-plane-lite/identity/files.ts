/** Keys and certificates that a server generates unless they are configured: its authorities, the serving certificate,
 *  the administrator's credentials and the server's own client certificates. Stored in a directory of their own; private
 *  keys are readable by root only. */
import { X509Certificate } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type CertificateTerms, crossSign, type Identity, issueIdentity } from '#api/pki/certificate.ts';
import { MASTERS_GROUP } from '../authn/users.ts';
import {
  type Authority,
  BACKDATE_MS,
  loadAuthority,
  parseCertificateFile,
  readIdentity,
  splitServerAuthority,
  writeIdentity,
} from './authorities.ts';
import { formatPlatconfig } from './platconfig.ts';
import { readIfThere, writePrivate } from './private-files.ts';

export interface IdentityOptions {
  /** Directory of the keys and certificates. */
  readonly dir: string;
  /** Names and addresses by which clients reach the server. */
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  /** User name of this server towards node agents. */
  readonly nodeClientName: string;
  readonly nowMs: number;
}

export interface ServerIdentity {
  /** For clients. */
  readonly authority: Authority;
  readonly serverAuthority: Authority;
  readonly nodeServingAuthority: Authority;
  readonly serving: Identity;
  /** Client certificate of an administrator. */
  readonly admin: Identity;
  readonly requestHeaderAuthority: Authority;
  /** Client certificate of this server towards extension servers. */
  readonly requestHeader: Identity;
  /** Client certificate of this server towards node agents, with a chain to either authority that they may know. */
  readonly nodeClient: Identity;
}

/** Common name of this server's client certificate towards extension servers. */
export const REQUEST_HEADER_NAME = 'front-proxy-client';

const DAY_MS = 24 * 60 * 60 * 1000;
const CERTIFICATE_MS = 365 * DAY_MS;
/** Certificates are renewed when no more than this is left, in ms. */
const RENEW_MS = 30 * DAY_MS;

const SERVING = 'apiserver';
const ADMIN = 'admin';
const NODE_CLIENT = 'apiserver-node-client';
/** The authority of clients, certified by that of the server. */
const AUTHORITY_FOR_AGENTS = 'ca-for-agents.crt';

const startOf = (certificate: X509Certificate): number => Date.parse(certificate.validFrom);
const endOf = (certificate: X509Certificate): number => Date.parse(certificate.validTo);

/** Reports whether the certificate is signed by this CA, is valid, and is not about to expire. A certificate that is
 *  not valid yet, because the clock was set back, counts as good only if no other could be valid. */
export function isGoodBy(certificate: X509Certificate, by: X509Certificate, nowMs: number): boolean {
  const isEarly = startOf(certificate) > nowMs && startOf(by) <= nowMs;
  const ends = Math.min(endOf(certificate) - RENEW_MS, endOf(by));
  const endsWithAuthority = endOf(certificate) === endOf(by);
  return !isEarly && (nowMs < ends || endsWithAuthority) && certificate.verify(by.publicKey);
}

interface Wanted {
  readonly name: string;
  readonly by: Identity;
  readonly terms: Pick<CertificateTerms, 'subject' | 'dnsNames' | 'ipAddresses' | 'extendedUsages'>;
}

const hasNames = (
  certificate: X509Certificate,
  { dnsNames = [], ipAddresses = [] }: Wanted['terms'],
): boolean =>
  dnsNames.every((name) => certificate.checkHost(name) !== undefined) &&
  ipAddresses.every((address) => certificate.checkIP(address) !== undefined);

const hasUser = (certificate: X509Certificate, { subject }: Wanted['terms']): boolean =>
  certificate.subject.split('\n').includes(`CN=${subject.commonName}`);

async function loadOrIssue(dir: string, { name, by, terms }: Wanted, nowMs: number): Promise<Identity> {
  const root = new X509Certificate(by.certificate);
  const known = await readIdentity(dir, name);
  if (known !== undefined) {
    const certificate = parseCertificateFile(known.certificate, join(dir, `${name}.crt`));
    if (isGoodBy(certificate, root, nowMs) && hasNames(certificate, terms) && hasUser(certificate, terms)) {
      return known;
    }
  }
  const made = issueIdentity(by, {
    ...terms,
    notBefore: new Date(Math.max(nowMs - BACKDATE_MS, startOf(root))),
    notAfter: new Date(Math.min(nowMs + CERTIFICATE_MS, endOf(root))),
  });
  await writeIdentity(dir, name, made);
  return made;
}

/** Agents that joined know only the authority of the server, others that of clients. */
async function loadAuthorityForAgents(dir: string, by: Identity, clients: Identity): Promise<string> {
  const file = join(dir, AUTHORITY_FOR_AGENTS);
  const known = await readIfThere(file);
  if (known !== undefined) {
    const certificate = parseCertificateFile(known, file);
    const { publicKey } = new X509Certificate(clients.certificate);
    const isRight =
      certificate.publicKey.equals(publicKey) &&
      certificate.verify(new X509Certificate(by.certificate).publicKey);
    if (isRight) return known;
  }
  const made = crossSign(by, clients.certificate, ['clientAuth']);
  await writePrivate(file, made);
  return made;
}

/** Loads existing files and generates those that are missing, expiring, not yet valid, or for other names. Certificates
 *  that others verify are signed by a former authority until its replacement has ended.
 *  @throws Error that names the unreadable or unwritable file */
export async function loadIdentity(options: IdentityOptions): Promise<ServerIdentity> {
  const { dir, nowMs, dnsNames, ipAddresses, nodeClientName } = options;
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await splitServerAuthority(dir);
  const serverAuthority = await loadAuthority(dir, 'server-ca', nowMs);
  const authority = await loadAuthority(dir, 'ca', nowMs);
  const nodeServingAuthority = await loadAuthority(dir, 'node-serving-ca', nowMs);
  const requestHeaderAuthority = await loadAuthority(dir, 'front-proxy-ca', nowMs);
  const clientOf = (
    name: string,
    by: Identity,
    commonName: string,
    ...groups: string[]
  ): Promise<Identity> => {
    const subject = { commonName, organizations: groups };
    return loadOrIssue(dir, { name, by, terms: { subject, extendedUsages: ['clientAuth'] } }, nowMs);
  };
  const serving = await loadOrIssue(
    dir,
    {
      name: SERVING,
      by: serverAuthority.former ?? serverAuthority,
      terms: {
        subject: { commonName: 'control-plane-lite' },
        dnsNames,
        ipAddresses,
        extendedUsages: ['serverAuth'],
      },
    },
    nowMs,
  );
  const headerSigner = requestHeaderAuthority.former ?? requestHeaderAuthority;
  const nodeClientSigner = authority.former ?? authority;
  const agentRoot =
    authority.former === undefined ? serverAuthority : (serverAuthority.former ?? serverAuthority);
  const nodeClient = await clientOf(NODE_CLIENT, nodeClientSigner, nodeClientName);
  const forAgents = await loadAuthorityForAgents(dir, agentRoot, nodeClientSigner);
  return {
    authority,
    serverAuthority,
    nodeServingAuthority,
    requestHeaderAuthority,
    serving,
    admin: await clientOf(ADMIN, authority, 'admin', MASTERS_GROUP),
    requestHeader: await clientOf(REQUEST_HEADER_NAME, headerSigner, REQUEST_HEADER_NAME),
    nodeClient: { certificate: nodeClient.certificate + forAgents, key: nodeClient.key },
  };
}

/** Writes the administrator's platconfig; returns its path. */
export async function writeAdminPlatconfig(
  dataDir: string,
  { serverAuthority, admin }: ServerIdentity,
  url: string,
): Promise<string> {
  const file = join(dataDir, 'admin.platconfig');
  await writePrivate(file, formatPlatconfig({ url, authority: serverAuthority.trusted, client: admin }));
  return file;
}
