/** Joins this machine to a cluster: discovers the cluster, writes the bootstrap configuration and the agent
 *  configuration, obtains the certificate and the platconfig. Can be repeated after an interruption at any
 *  step. */
import { dirname, join } from 'node:path';
import { createBackoff } from '#api/kit/backoff.ts';
import { sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
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
  /** Path of the client configuration of the node. */
  readonly platconfig: string;
  /** Path of the bootstrap configuration with the token. */
  readonly bootstrapConfig: string;
  /** Path of the agent configuration; an existing file is extended. */
  readonly configFile: string;
  /** Candidate vocabularies of the server, the most likely first. */
  readonly vocabularies: readonly Vocabulary[];
  /** Flags of the agent for a vocabulary, besides `--config`. */
  readonly flags: (vocabulary: Vocabulary) => readonly string[];
  /** In ms. */
  readonly timeoutMs: number;
}

export interface JoinDeps extends Omit<SessionDeps, 'vocabulary' | 'userAgent'> {
  readonly userAgent: (vocabulary: Vocabulary) => string;
  /** Receives a message for each step, and every few seconds for what is being waited for. */
  readonly onStep: (text: string) => void;
}

export interface JoinResult {
  readonly vocabulary: Vocabulary;
}

const RETRY = { initialMs: 250, maxMs: 5000, jitter: 0.2 };
/** Grace period for a new token to sign cluster-info, in ms. */
const SIGNING_MS = 10_000;

/** @throws JoinError, CertificateError, system errors of files, the signal's reason */
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
        report.for(`approval of certificate request ${request}`);
      },
    }),
  );
  const [first] = sessions;
  if (first === undefined) throw new TypeError('no vocabulary is configured');
  const certificates = { ...options, rotate: true, once: true };
  if ((await platconfigState(first, certificates)) === 'good') {
    const message = `${platconfig} is there and good: this machine is a node already; to join anew, run \`nodeagent leave\` first`;
    throw new JoinError('AlreadyJoined', message);
  }
  // Report problems of the file before any request or write.
  await mergedConfig(options, first.vocabulary);
  const persist = <T>(work: (until: AbortSignal) => Promise<T>): Promise<T> =>
    patiently(deps, options, report, signal, work);
  report.for(`the API server at ${address}`);
  const session = await persist((until) => discoverVocabulary(sessions, options, until));
  const cluster = await persist((until) => discoverCluster(session, options, until));
  const { server, serverName, authority } = cluster;
  deps.onStep(`verified the cluster at ${server} with the token`);
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
  const { before, text, added, unchanged } = await mergedConfig(options, vocabulary);
  const recordFile = join(dirname(configFile), JOIN_RECORD_NAME);
  // A repeated join finds the settings that an interrupted one has added.
  const earlier = parseJoinRecord((await certificateFiles.read(recordFile)) ?? '');
  const flags = options.flags(vocabulary);
  const odd = flags.find((flag) => !isPlainFlag(flag));
  if (odd !== undefined) {
    throw new JoinError(
      'BadConfig',
      `${odd}: nodeagent.service does not support names with blanks or quotes`,
    );
  }
  const record = {
    flags,
    added: [...new Set([...earlier.added, ...added])],
    madeConfig: earlier.madeConfig || before === undefined,
    files: [platconfig, bootstrapConfig, authorityFile],
  };
  // Write the record that undoes the join first.
  await certificateFiles.write(recordFile, formatJoinRecord(record));
  if (added.length > 0) await certificateFiles.write(await realFile(configFile), text);
  if (before === undefined) onStep(`wrote ${configFile}`);
  else if (added.length > 0) onStep(`added to ${configFile}: ${added.join(', ')}`);
  for (const { path, has, wants } of unchanged) {
    onStep(`did not change ${path}: ${has} in ${configFile}; the cluster expects ${wants}`);
  }
  onStep(`wrote ${recordFile}`);
}

/** Retries transient failures until the timeout. */
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
    const why = last === undefined ? 'the certificate request was not approved' : last.message;
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
