/** Makes this machine a node of a cluster: finds the cluster, writes the bootstrap configuration and the agent's own,
 *  gets the certificate and the platconfig. Broken off anywhere, it can be begun again. */
import { join } from 'node:path';
import { createBackoff } from '#api/kit/backoff.ts';
import { asError, sleep } from '#api/kit/clock.ts';
import { openClientCertificates } from '../certs/client-certificates.ts';
import { platconfigState } from '../certs/client-place.ts';
import { certificateFiles } from '../certs/files.ts';
import { formatPlatconfig } from '../certs/platconfig.ts';
import type { SessionDeps } from '../certs/server-session.ts';
import { type DiscoverOptions, discoverCluster } from './discover.ts';
import { JoinError } from './errors.ts';
import { formatNodeConfig } from './node-config.ts';

export interface JoinOptions extends DiscoverOptions {
  readonly nodeName: string;
  readonly certDir: string;
  /** Where the node's client configuration is to be. */
  readonly platconfig: string;
  /** Where that with the token is to be. */
  readonly bootstrapConfig: string;
  /** Where the agent's configuration is to be; one that is there is left alone. */
  readonly configFile: string;
  /** In ms. */
  readonly timeoutMs: number;
}

export interface JoinDeps extends SessionDeps {
  /** Told of each step, in words for people. */
  readonly onStep: (text: string) => void;
}

const RETRY = { initialMs: 250, maxMs: 5000, jitter: 0.2 };
/** A token that was made just now may not have signed yet, in ms. */
const SIGNING_MS = 10_000;

/** @throws JoinError, CertificateError, the system's error of a file, the signal's reason */
export async function joinCluster(deps: JoinDeps, options: JoinOptions, signal: AbortSignal): Promise<void> {
  const { platconfig, bootstrapConfig, token } = options;
  const certificates = { ...options, rotate: true, once: true };
  if ((await platconfigState(deps, certificates)) === 'good') {
    const message = `${platconfig} is there and good: this machine is a node already; remove the file to join anew`;
    throw new JoinError('AlreadyJoined', message);
  }
  const cluster = await patiently(deps, options, signal, (until) => discoverCluster(deps, options, until));
  const { server, serverName, authority } = cluster;
  deps.onStep(`the cluster at ${server} is the one of the token`);
  const tls = { authority, insecure: false, ...(serverName === '' ? {} : { serverName }) };
  await certificateFiles.write(bootstrapConfig, formatPlatconfig({ server, tls }, { token: token.text }));
  deps.onStep(`wrote ${bootstrapConfig}`);
  await writeNodeConfig(deps, options, authority);
  await patiently(deps, options, signal, (until) => openClientCertificates(deps, certificates, until));
  deps.onStep(`wrote ${platconfig}`);
}

async function writeNodeConfig(
  { vocabulary, onStep }: JoinDeps,
  { configFile, certDir }: JoinOptions,
  authority: string,
): Promise<void> {
  const authorityFile = join(certDir, 'cluster-ca.crt');
  await certificateFiles.write(authorityFile, authority);
  const text = formatNodeConfig(vocabulary, { authorityFile });
  if (await certificateFiles.create(configFile, text)) return onStep(`wrote ${configFile}`);
  onStep(`left ${configFile} as it is; clients of the cluster are known by clientCAFile: ${authorityFile}`);
}

/** Tries again what passes by itself, until the time is over. */
async function patiently<T>(
  { clock }: Pick<JoinDeps, 'clock'>,
  { timeoutMs, server }: JoinOptions,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const backoff = createBackoff(RETRY);
  const deadline = new AbortController();
  const startMs = clock.monotonic();
  let last: Error | undefined;
  const timer = clock.setTimer(() => {
    const why = last === undefined ? 'nobody approved the certificate request' : last.message;
    deadline.abort(new JoinError('TimedOut', `joining ${server} took too long: ${why}`, { cause: last }));
  }, timeoutMs);
  const until = AbortSignal.any([signal, deadline.signal]);
  try {
    for (;;) {
      try {
        return await work(until);
      } catch (thrown) {
        until.throwIfAborted();
        last = asError(thrown);
        if (!isPassing(last, clock.monotonic() - startMs)) throw last;
        await sleep(clock, backoff.fail('', clock.now()), until);
      }
    }
  } finally {
    timer.cancel();
  }
}

function isPassing(error: Error, elapsedMs: number): boolean {
  if (error instanceof JoinError) return error.reason === 'NotSigned' && elapsedMs < SIGNING_MS;
  return 'retryable' in error && error.retryable === true;
}
