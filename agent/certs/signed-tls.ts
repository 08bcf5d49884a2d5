/** Serving certificate from the signer of the API server. An administrator must approve each request, so the
 *  first may take long; it is renewed before it expires, and at once when the names of the node change.
 *  Source: serving certificates, document 2 §2.5; upstream's `serverTLSBootstrap`. */
import type { ResolvedClientConfig } from '#api/client-config/resolve.ts';
import { CertificateError } from './errors.ts';
import type { CertificateFiles } from './files.ts';
import { awaitRemoval } from './follow-request.ts';
import { isFor } from './is-for.ts';
import { issueCertificate } from './issue.ts';
import { createRenewal } from './renewal.ts';
import { isExpired } from './rotation.ts';
import { type SessionDeps, withServer } from './server-session.ts';
import { createCertificateStore, type StoredCertificate } from './store.ts';
import { holdPair, type ServingNames, type TlsSource } from './tls-source.ts';

interface SignedDeps extends SessionDeps {
  readonly files: CertificateFiles;
  /** Used until the signer has issued a certificate. */
  readonly own: TlsSource;
  readonly clientConfig: () => ResolvedClientConfig | undefined;
  readonly names: () => ServingNames;
  readonly onNamesChange?: (listener: () => void) => () => void;
}

interface SignedOptions {
  readonly nodeName: string;
  readonly certDir: string;
  readonly expirationSeconds?: number;
}

/** The names changed while a certificate was requested. */
class NamesChangedError extends Error {
  override readonly name = 'NamesChangedError';
}

function askable({ clientConfig, names }: SignedDeps): ResolvedClientConfig | undefined {
  const { dnsNames, ipAddresses } = names();
  return dnsNames.length + ipAddresses.length === 0 ? undefined : clientConfig();
}

/** @throws the system error if files on disk cannot be read */
export async function signedTls(deps: SignedDeps, options: SignedOptions): Promise<TlsSource> {
  const { clock, files, names, own } = deps;
  const store = createCertificateStore(
    { files, now: () => clock.now() },
    { dir: options.certDir, prefix: 'nodeagent-server' },
  );
  const isGood = (pair: StoredCertificate | undefined): pair is StoredCertificate =>
    pair !== undefined && !isExpired(pair.x509, clock.now());

  let known = await store.current();
  const held = holdPair(isGood(known) ? known : own.current());
  let changed = new AbortController();

  async function issue(config: ResolvedClientConfig, signal: AbortSignal): Promise<void> {
    const { nodeName, expirationSeconds } = options;
    const wish = { signer: 'serving', nodeName, keyType: 'ecdsa', ...names(), expirationSeconds } as const;
    known = await withServer(
      deps,
      config,
      (session) => issueCertificate(session, store, wish, signal),
      signal,
    );
    held.set(known);
  }

  /** Starts again whenever the names change in the meantime. */
  async function attempt(signal: AbortSignal): Promise<void> {
    for (;;) {
      const { signal: stale } = changed;
      const config = askable(deps);
      if (config === undefined) return;
      try {
        return await issue(config, AbortSignal.any([signal, stale]));
      } catch (thrown) {
        signal.throwIfAborted();
        if (!stale.aborted) throw thrown;
      }
    }
  }

  const renewal = createRenewal(deps, {
    // Idle until credentials are available.
    isIdle: () => askable(deps) === undefined,
    current: () => Promise.resolve(isGood(known) && isFor(known.x509, names()) ? known.x509 : undefined),
    attempt,
    async awaitRemoval(request, signal) {
      const config = askable(deps);
      if (config === undefined)
        throw new CertificateError('ServerAway', 'no client configuration to request a certificate with');
      const until = AbortSignal.any([signal, changed.signal]);
      await withServer(deps, config, (session) => awaitRemoval(session, request, until), until);
    },
  });

  function onNames(): void {
    changed.abort(new NamesChangedError('the names of the node changed'));
    changed = new AbortController();
    renewal.wake();
  }

  return {
    current: () => (isGood(known) ? held.get() : own.current()),
    onChange: (listener) => held.onChange(listener),
    async run(signal) {
      const end = deps.onNamesChange?.(onNames);
      const endOwn = own.onChange((pair) => {
        if (!isGood(known)) held.set(pair);
      });
      renewal.wake();
      await Promise.all([renewal.run(signal), own.run(signal)]);
      endOwn();
      end?.();
    },
  };
}
