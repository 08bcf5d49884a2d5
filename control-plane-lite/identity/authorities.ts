/** Certificate authorities of a server, and their replacement. During a replacement the former authority stays beside
 *  the new one (`NAME-old`): both are trusted until an administrator ends it. A new authority arrives as one file
 *  (`NAME.next`), which is adopted in steps that can be repeated after a crash. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createAuthority, type Identity } from '#api/pki/certificate.ts';
import { parsePem } from '#api/pki/pem.ts';
import { readIfThere, writePrivate } from './private-files.ts';

export interface Authority extends Identity {
  /** PEM of all certificates to trust: its own first, then that of the authority that it replaces. */
  readonly trusted: string;
  /** The authority that it replaces. */
  readonly former: Identity | undefined;
}

/** File names of the authorities, with their common names. */
export const AUTHORITIES = {
  /** Signs the certificates of clients. */
  ca: 'control-plane-lite-ca',
  /** Signs the serving certificate of this server. */
  'server-ca': 'control-plane-lite-server-ca',
  /** Signs the serving certificates of node agents, and nothing else: no client trusts it for this server. */
  'node-serving-ca': 'control-plane-lite-node-serving-ca',
  /** Its certificates authenticate the request headers that name the user. */
  'front-proxy-ca': 'front-proxy-ca',
} as const;

export type AuthorityName = keyof typeof AUTHORITIES;

/** Names of all authorities. */
export const AUTHORITY_NAMES: readonly AuthorityName[] = [
  'ca',
  'server-ca',
  'node-serving-ca',
  'front-proxy-ca',
];

const DAY_MS = 24 * 60 * 60 * 1000;
const AUTHORITY_MS = 10 * 365 * DAY_MS;
/** Certificates are valid from this long before their creation, in ms, so that they stay valid when a clock jumps back
 *  by a year. Together with their lifetime this is below the limit of 825 days that some clients enforce. */
export const BACKDATE_MS: number = 400 * DAY_MS;

const SUFFIXES = { current: '', former: '-old' } as const;

const fileOf = (dir: string, name: string, end: string): string => join(dir, `${name}${end}`);

/** @throws Error that names the file */
export function parseCertificateFile(pem: string, file: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (cause) {
    throw new Error(`${file} contains no certificate; remove it to generate a new one`, { cause });
  }
}

const isPair = ({ certificate, key }: Identity): boolean =>
  new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));

/** Returns the certificate and key of a name; `undefined` if either is missing. */
export async function readIdentity(dir: string, name: string): Promise<Identity | undefined> {
  const certificate = await readIfThere(fileOf(dir, name, '.crt'));
  const key = await readIfThere(fileOf(dir, name, '.key'));
  return certificate === undefined || key === undefined ? undefined : { certificate, key };
}

/** Writes the key first: a certificate without its key is worth nothing. */
export async function writeIdentity(
  dir: string,
  name: string,
  { certificate, key }: Identity,
): Promise<void> {
  await writePrivate(fileOf(dir, name, '.key'), key);
  await writePrivate(fileOf(dir, name, '.crt'), certificate);
}

export const newAuthority = (name: AuthorityName, nowMs: number): Identity =>
  createAuthority(
    { commonName: AUTHORITIES[name] },
    new Date(nowMs - BACKDATE_MS),
    new Date(nowMs + AUTHORITY_MS),
  );

/** Parses the file of a new authority. @throws Error that names the file */
function readNext(text: string, file: string): Identity {
  const pemOf = (label: string): string => parsePem(text).find((block) => block.label === label)?.text ?? '';
  const next = { certificate: pemOf('CERTIFICATE'), key: pemOf('PRIVATE KEY') };
  if (next.certificate === '' || next.key === '' || !isPair(next)) {
    throw new Error(`${file} is not a certificate and its key; remove it`);
  }
  return next;
}

/** Replaces the authority by the one in `NAME.next`. */
async function adoptNext(dir: string, name: AuthorityName): Promise<void> {
  const file = fileOf(dir, name, '.next');
  const text = await readIfThere(file);
  if (text === undefined) return;
  const next = readNext(text, file);
  const current = await readIdentity(dir, name);
  // After an interruption, the key may already be the new one, and the former authority is complete.
  if (current !== undefined && current.certificate !== next.certificate && isPair(current)) {
    await writeIdentity(dir, name + SUFFIXES.former, current);
  }
  await writeIdentity(dir, name, next);
  await rm(file);
}

/** Loads an authority, or generates it. @throws Error that names the invalid file */
export async function loadAuthority(dir: string, name: AuthorityName, nowMs: number): Promise<Authority> {
  await adoptNext(dir, name);
  const known = await readIdentity(dir, name);
  const current = known ?? newAuthority(name, nowMs);
  const file = fileOf(dir, name, '.crt');
  parseCertificateFile(current.certificate, file);
  if (!isPair(current)) throw new Error(`${file} and ${name}.key do not belong together`);
  if (known === undefined) await writeIdentity(dir, name, current);
  const former = await readIdentity(dir, name + SUFFIXES.former);
  return { ...current, former, trusted: current.certificate + (former?.certificate ?? '') };
}

/** Earlier servers signed their serving certificate with the CA of clients: that one stays trusted beside the new
 *  authority, as in a replacement. */
export async function splitServerAuthority(dir: string): Promise<void> {
  const clients = await readIdentity(dir, 'ca');
  if (clients === undefined || (await readIdentity(dir, 'server-ca')) !== undefined) return;
  await writeIdentity(dir, `server-ca${SUFFIXES.former}`, clients);
}

/** Reports whether no server has adopted the new authority yet. */
export const isProposed = async (dir: string, name: AuthorityName): Promise<boolean> =>
  (await readIfThere(fileOf(dir, name, '.next'))) !== undefined;

/** Returns the authorities that are being replaced. */
export async function replacedAuthorities(dir: string): Promise<readonly AuthorityName[]> {
  const files = new Set(await readdir(dir));
  return AUTHORITY_NAMES.filter((name) => files.has(`${name}-old.crt`) || files.has(`${name}.next`));
}

/** Begins the replacement: the server adopts the file at once, or when it starts. */
export async function proposeAuthority(dir: string, name: AuthorityName, nowMs: number): Promise<void> {
  const { certificate, key } = newAuthority(name, nowMs);
  await writePrivate(fileOf(dir, name, '.next'), certificate + key);
}

/** Ends the replacement: the former authority is trusted no longer. */
export async function dropFormer(dir: string, name: AuthorityName): Promise<void> {
  await rm(fileOf(dir, name + SUFFIXES.former, '.crt'), { force: true });
  await rm(fileOf(dir, name + SUFFIXES.former, '.key'), { force: true });
}
