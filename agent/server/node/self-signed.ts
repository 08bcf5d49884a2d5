/** A certificate of the agent's own making, for nodes that nobody gave one: kept, so that clients who remember it
 *  meet it again. Source: document 3, 4.3 (`--cert-dir`). */
import { X509Certificate } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import type { Identity } from '#api/pki/certificate.ts';

export interface SelfSignedOptions {
  readonly dir: string;
  /** First part of the files' names. */
  readonly fileName: string;
  /** Name of the node. */
  readonly nodeName: string;
  readonly addresses: readonly string[];
  readonly nowMs: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const VALID_MS = 365 * DAY_MS;
/** Made anew when no more than this is left. */
const RENEW_MS = 30 * DAY_MS;
const BACKDATE_MS = 60 * 60 * 1000;

function isGood(pem: string, { nodeName, nowMs }: SelfSignedOptions): boolean {
  try {
    const certificate = new X509Certificate(pem);
    const isForNode = isIP(nodeName) === 0 ? certificate.checkHost(nodeName) : certificate.checkIP(nodeName);
    return isForNode !== undefined && Date.parse(certificate.validTo) - nowMs > RENEW_MS;
  } catch {
    return false;
  }
}

async function make({ nodeName, addresses, nowMs }: SelfSignedOptions): Promise<Identity> {
  const { createAuthority, issueIdentity } = await import('#api/pki/certificate.ts');
  const notBefore = new Date(nowMs - BACKDATE_MS);
  const notAfter = new Date(nowMs + VALID_MS);
  const authority = createAuthority({ commonName: `${nodeName}-ca@${nowMs}` }, notBefore, notAfter);
  const isAddress = isIP(nodeName) !== 0;
  const made = issueIdentity(authority, {
    subject: { commonName: `${nodeName}@${nowMs}` },
    dnsNames: isAddress ? [] : [nodeName],
    ipAddresses: [...new Set([...(isAddress ? [nodeName] : []), ...addresses])],
    extendedUsages: ['serverAuth'],
    notBefore,
    notAfter,
  });
  return { certificate: made.certificate + authority.certificate, key: made.key };
}

async function writeAtomically(path: string, text: string): Promise<void> {
  await writeFile(`${path}.tmp`, text, { mode: 0o600, flush: true });
  await rename(`${path}.tmp`, path);
}

/** Certificate and key lie in one file: together they are written at once. */
export async function selfSignedIdentity(options: SelfSignedOptions): Promise<Identity> {
  const path = join(options.dir, `${options.fileName}.pem`);
  const known = await readFile(path, 'utf8').catch(() => '');
  const key = /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----\n?/.exec(known)?.[0];
  const certificate = key === undefined ? known : known.replace(key, '');
  if (key !== undefined && isGood(certificate, options)) return { certificate, key };
  const made = await make(options);
  await mkdir(options.dir, { recursive: true, mode: 0o700 });
  await writeAtomically(path, made.certificate + made.key);
  return made;
}
