/** Makes this machine a node of a cluster: finds the cluster, writes the bootstrap configuration and the agent's own,
 *  gets the certificate and the platconfig. Broken off anywhere, it can be begun again. */
import { dirname, join } from 'node:path';
import { createBackoff } from '#api/kit/backoff.ts';
import { asError, sleep } from '#api/kit/clock.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { openClientCertificates } from '../certs/client-certificates.ts';
import { platconfigState } from '../certs/client-place.ts';
import { certificateFiles } from '../certs/files.ts';
import { formatPlatconfig } from '../certs/platconfig.ts';
import type { SessionDeps } from '../certs/server-session.ts';
import { type DiscoverOptions, discoverCluster, discoverVocabulary } from './discover.ts';
import { JoinError } from './errors.ts';
import { realFile } from './leave.ts';
import { mergeNodeConfig } from './node-config.ts';
import { formatJoinRecord, isPlainFlag, JOIN_RECORD_NAME, parseJoinRecord } from './record.ts';
import { createWaitingReport, type WaitingReport } from './waiting.ts';

export interface JoinOptions extends DiscoverOptions {
  readonly nodeName: string;
  readonly certDir: string;
  /** Where the node's client configuration is to be. */
  readonly platconfig: string;
  /** Where that with the token is to be. */
  readonly bootstrapConfig: string;
  /** Where the agent's configuration is to be; one that is there is added to. */
  readonly configFile: string;
  /** That the server may speak, the likeliest first. */
  readonly vocabularies: readonly Vocabulary[];
  /** The agent's flags for a vocabulary, beside `--config`. */
  readonly flags: (vocabulary: Vocabulary) => readonly string[];
  /** In ms. */
  readonly timeoutMs: number;
}

export interface JoinDeps extends Omit<SessionDeps, 'vocabulary' | 'userAgent'> {
  readonly userAgent: (vocabulary: Vocabulary) => string;
  /** Told of each step, and every few seconds of what is waited for, in words for people. */
  readonly onStep: (text: string) => void;
}

export interface JoinResult {
  readonly vocabulary: Vocabulary;
}

const RETRY = { initialMs: 250, maxMs: 5000, jitter: 0.2 };
/** A token that was made just now may not have signed yet, in ms. */
const SIGNING_MS = 10_000;

/** @throws JoinError, CertificateError, the system's error of a file, the signal's reason */
export async function joinCluster(
  deps: JoinDeps,
  options: JoinOptions,
  signal: AbortSignal,
): Promise<JoinResult> {
  const report = createWaitingReport(deps.clock, deps.onStep);
  try {
    return await joinReporting(deps, options, report, signal);
  } finally {
    report.stop();
  }
}

async function joinReporting(
  deps: JoinDeps,
  options: JoinOptions,
  report: WaitingReport,
  signal: AbortSignal,
): Promise<JoinResult> {
  const { platconfig, bootstrapConfig, token, server: address } = options;
  const sessions = options.vocabularies.map(
    (vocabulary): SessionDeps => ({
      ...deps,
      vocabulary,
      userAgent: deps.userAgent(vocabulary),
      onWaiting: (request) => {
        deps.onWaiting?.(request);
        report.for(`approval of the certificate request ${request}`);
      },
    }),
  );
  const [first] = sessions;
  if (first === undefined) throw new TypeError('no vocabulary is given');
  const certificates = { ...options, rotate: true, once: true };
  if ((await platconfigState(first, certificates)) === 'good') {
    const message = `${platconfig} is there and good: this machine is a node already; to join anew, run \`nodeagent leave\` first`;
    throw new JoinError('AlreadyJoined', message);
  }
  // What is wrong with the file is said before anything is asked or written.
  await mergedConfig(options, first.vocabulary);
  const persist = <T>(work: (until: AbortSignal) => Promise<T>): Promise<T> =>
    patiently(deps, options, report, signal, work);
  report.for(`the API server at ${address}`);
  const session = await persist((until) => discoverVocabulary(sessions, options, until));
  const cluster = await persist((until) => discoverCluster(session, options, until));
  const { server, serverName, authority } = cluster;
  deps.onStep(`the cluster at ${server} is the one of the token`);
  const tls = { authority, insecure: false, ...(serverName === '' ? {} : { serverName }) };
  await certificateFiles.write(bootstrapConfig, formatPlatconfig({ server, tls }, { token: token.text }));
  deps.onStep(`wrote ${bootstrapConfig}`);
  await writeNodeConfig(deps, options, session.vocabulary, authority);
  report.for(`the client certificate of ${server}`);
  await persist((until) => openClientCertificates(session, certificates, until));
  deps.onStep(`wrote ${platconfig}`);
  return { vocabulary: session.vocabulary };
}

const authorityFileOf = ({ certDir }: JoinOptions): string => join(certDir, 'cluster-ca.crt');

async function mergedConfig(options: JoinOptions, vocabulary: Vocabulary) {
  const { configFile } = options;
  const before = await certificateFiles.read(configFile);
  const settings = { authorityFile: authorityFileOf(options) };
  return { before, ...mergeNodeConfig(before, vocabulary, settings, configFile) };
}

async function writeNodeConfig(
  { onStep }: JoinDeps,
  options: JoinOptions,
  vocabulary: Vocabulary,
  authority: string,
): Promise<void> {
  const { configFile, platconfig, bootstrapConfig } = options;
  const authorityFile = authorityFileOf(options);
  await certificateFiles.write(authorityFile, authority);
  const { before, text, added, kept } = await mergedConfig(options, vocabulary);
  const recordFile = join(dirname(configFile), JOIN_RECORD_NAME);
  // A join that was broken off and is begun again finds what it added there already.
  const earlier = parseJoinRecord((await certificateFiles.read(recordFile)) ?? '');
  const flags = options.flags(vocabulary);
  const odd = flags.find((flag) => !isPlainFlag(flag));
  if (odd !== undefined) {
    throw new JoinError('BadConfig', `${odd}: nodeagent.service can't use names with blanks or quotes`);
  }
  const record = {
    flags,
    added: [...new Set([...earlier.added, ...added])],
    madeConfig: earlier.madeConfig || before === undefined,
    files: [platconfig, bootstrapConfig, authorityFile],
  };
  // First what says how to undo it.
  await certificateFiles.write(recordFile, formatJoinRecord(record));
  if (added.length > 0) await certificateFiles.write(await realFile(configFile), text);
  if (before === undefined) onStep(`wrote ${configFile}`);
  else if (added.length > 0) onStep(`added to ${configFile}: ${added.join(', ')}`);
  for (const { path, has, wants } of kept) {
    onStep(`kept ${path}: ${has} of ${configFile}; the cluster expects ${wants}`);
  }
  onStep(`wrote ${recordFile}`);
}

/** Tries again what passes by itself, until the time is over. */
async function patiently<T>(
  { clock }: Pick<JoinDeps, 'clock'>,
  { timeoutMs }: JoinOptions,
  report: WaitingReport,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const backoff = createBackoff(RETRY);
  const deadline = new AbortController();
  const startMs = clock.monotonic();
  let last: Error | undefined;
  const timer = clock.setTimer(() => {
    const why = last === undefined ? 'nobody approved the certificate request' : last.message;
    const message = `gave up after ${Math.round(timeoutMs / 1000)} s (--timeout): ${why}`;
    deadline.abort(new JoinError('TimedOut', message, { cause: last }));
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
        report.because(last.message);
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
