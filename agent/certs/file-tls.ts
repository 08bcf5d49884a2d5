/** Serving certificate from configured files. Reads it again whenever one of its directories changes. */
import { type FSWatcher, watch } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createLoop } from '#api/kit/loop.ts';
import type { CertificateFiles } from './files.ts';
import { readPair, type StoredCertificate } from './store.ts';
import { holdPair, type TlsSource } from './tls-source.ts';

/** An unusable pair of files. */
class TlsFileError extends Error {
  override readonly name = 'TlsFileError';
  readonly reason = 'BadTlsFile';
}

const RETRY_MS = 30_000;

interface FileTlsDeps {
  readonly files: Pick<CertificateFiles, 'read'>;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
}

interface FilePaths {
  readonly certFile: string;
  readonly keyFile: string;
}

/** @throws TlsFileError */
async function load({ files }: FileTlsDeps, { certFile, keyFile }: FilePaths): Promise<StoredCertificate> {
  const [certificate, key] = await Promise.all([files.read(certFile), files.read(keyFile)]);
  if (certificate === undefined) throw new TlsFileError(`certificate file ${certFile} not found`);
  if (key === undefined) throw new TlsFileError(`key file ${keyFile} not found`);
  const pair = readPair(certificate, key);
  if (pair !== undefined) return pair;
  throw new TlsFileError(`${certFile} and ${keyFile} are not a certificate and its key in PEM`);
}

/** @throws TlsFileError */
export async function fileTls(deps: FileTlsDeps, paths: FilePaths): Promise<TlsSource> {
  const held = holdPair(await load(deps, paths));

  const loop = createLoop({
    clock: deps.clock,
    async step() {
      held.set(await load(deps, paths));
      return undefined;
    },
    // Between the writes of the two files they do not match.
    onError: (err) => deps.log.warn({ err }, 'Failed to reload serving certificate; retrying'),
    retryMs: RETRY_MS,
  });

  function follow(folder: string): FSWatcher | undefined {
    try {
      const watcher = watch(folder, () => loop.wake());
      watcher.on('error', (err) => deps.log.warn({ err, folder }, 'Serving certificate watch failed'));
      return watcher;
    } catch (thrown) {
      deps.log.warn({ err: asError(thrown), folder }, 'Failed to watch serving certificate');
      return undefined;
    }
  }

  return {
    current: () => held.get(),
    onChange: (listener) => held.onChange(listener),
    async run(signal) {
      const folders = new Set([dirname(paths.certFile), dirname(paths.keyFile)]);
      const watchers = [...folders].map(follow);
      loop.wake();
      await loop.run(signal);
      for (const watcher of watchers) watcher?.close();
    },
  };
}
