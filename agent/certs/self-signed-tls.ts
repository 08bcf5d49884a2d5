/** Self-signed serving certificate: `nodeagent.crt` and `nodeagent.key` in `--cert-dir`. Created when it is
 *  missing, about to expire, or for other names than those of the node. */
import { createPublicKey } from 'node:crypto';
import { isIP } from 'node:net';
import { join } from 'node:path';
import type { Clock } from '#api/kit/clock.ts';
import { onClockJump } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createLoop } from '#api/kit/loop.ts';
import type { CertificateFiles } from './files.ts';
import { isFor } from './is-for.ts';
import { formatPrivateKey, makeKey } from './keys.ts';
import { rotationTime, shareOf, validityOf } from './rotation.ts';
import { readPair, type StoredCertificate } from './store.ts';
import { holdPair, type ServingNames, type TlsSource } from './tls-source.ts';

interface SelfSignedDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly files: CertificateFiles;
  readonly names: () => ServingNames;
  readonly onNamesChange?: (listener: () => void) => () => void;
}

interface SelfSignedOptions {
  readonly nodeName: string;
  readonly certDir: string;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const TERM_MS = 365 * DAY_MS;
/** Tolerance for clients with slow clocks. */
const BACKDATE_MS = 60 * 60 * 1000;

/** Returns the pair on disk, or creates a new one. Writes the key first: without its certificate it has no
 *  effect. */
async function ensure(
  { clock, log, files, names }: SelfSignedDeps,
  { nodeName, certDir }: SelfSignedOptions,
): Promise<StoredCertificate> {
  const certFile = join(certDir, 'nodeagent.crt');
  const keyFile = join(certDir, 'nodeagent.key');
  const [certificate = '', key = ''] = await Promise.all([files.read(certFile), files.read(keyFile)]);
  const found = readPair(certificate, key);
  const wanted = withNode(names(), nodeName);
  if (found !== undefined && clock.now() < dueOf(found) && isFor(found.x509, wanted)) return found;
  const made = await make(wanted, nodeName, clock.now());
  await files.write(keyFile, made.key);
  await files.write(certFile, made.certificate);
  log.info({ file: certFile, until: made.x509.validTo }, 'Serving certificate created');
  return made;
}

const dueOf = ({ x509 }: StoredCertificate): number => rotationTime(validityOf(x509), shareOf(x509));

/** The host name of the node is always included. */
function withNode({ dnsNames, ipAddresses }: ServingNames, nodeName: string): ServingNames {
  return isIP(nodeName) === 0
    ? { dnsNames: [...new Set([nodeName, ...dnsNames])], ipAddresses }
    : { dnsNames, ipAddresses: [...new Set([nodeName, ...ipAddresses])] };
}

async function make(names: ServingNames, nodeName: string, nowMs: number): Promise<StoredCertificate> {
  const { issueSelfSigned } = await import('#api/pki/certificate.ts');
  const key = await makeKey('ecdsa');
  const certificate = issueSelfSigned(key, {
    subject: { commonName: nodeName },
    publicKey: createPublicKey(key),
    ...names,
    extendedUsages: ['serverAuth'],
    notBefore: new Date(nowMs - BACKDATE_MS),
    notAfter: new Date(nowMs + TERM_MS),
  });
  const pair = readPair(certificate, formatPrivateKey(key));
  if (pair === undefined) throw new Error('the created serving certificate does not match its key');
  return pair;
}

/** @throws Error for a file that cannot be written */
export async function selfSignedTls(deps: SelfSignedDeps, options: SelfSignedOptions): Promise<TlsSource> {
  const held = holdPair(await ensure(deps, options));
  const loop = createLoop({
    clock: deps.clock,
    async step() {
      held.set(await ensure(deps, options));
      return deps.clock.now() + DAY_MS;
    },
    onError: (error) => deps.log.error({ err: asError(error) }, 'Failed to create serving certificate'),
    retryMs: 60_000,
  });
  return {
    current: () => held.get(),
    onChange: (listener) => held.onChange(listener),
    async run(signal) {
      const ends = [deps.onNamesChange?.(() => loop.wake()), onClockJump(deps.clock, () => loop.wake())];
      loop.wake();
      await loop.run(signal);
      for (const end of ends) end?.();
    },
  };
}
