/** Serving certificate of the node server. Usage:
 *
 *      const tls = await openServingCertificates(deps, options);
 *      server.setSecureContext(contextOf(tls.current()));
 *      tls.onChange((pair) => server.setSecureContext(contextOf(pair)));
 *      void tls.run(signal);
 *
 *  The certificate comes from configured files, or from the signer of the API server (`serverTLSBootstrap`),
 *  or is self-signed. Deviation: until the signer has issued one, the self-signed certificate is used,
 *  whereas upstream rejects handshakes: clients that verify the CA reject it anyway, and others need not wait
 *  for the approval.
 *  Source: serving certificates, document 2 §2.5 and document 3 §4.3; upstream's node agent. */
import type { ResolvedClientConfig } from '#api/client-config/resolve.ts';
import { fileTls } from './file-tls.ts';
import { type CertificateFiles, certificateFiles } from './files.ts';
import { selfSignedTls } from './self-signed-tls.ts';
import type { SessionDeps } from './server-session.ts';
import { signedTls } from './signed-tls.ts';
import type { ServingNames, TlsSource } from './tls-source.ts';

export interface ServingDeps extends SessionDeps {
  /** Credentials for requesting the certificate; `undefined` while there are none. */
  readonly clientConfig: () => ResolvedClientConfig | undefined;
  /** Returns the current names of the node. */
  readonly names: () => ServingNames;
  /** Subscribes to changes of the names and of the credentials. @returns a function that ends the
   *  subscription */
  readonly onNamesChange?: (listener: () => void) => () => void;
  /** Default: files on disk. */
  readonly files?: CertificateFiles;
}

export interface ServingOptions {
  readonly nodeName: string;
  /** `--cert-dir`. */
  readonly certDir: string;
  /** `tlsCertFile` and `tlsPrivateKeyFile`; empty for none. */
  readonly certFile: string;
  readonly keyFile: string;
  /** `serverTLSBootstrap`, with an API server. */
  readonly bootstrap: boolean;
  /** Requested lifetime of the signed one in seconds. Default: decided by the signer. At least 600. */
  readonly expirationSeconds?: number;
}

/** @throws Error naming the file that cannot be read, written or used */
export async function openServingCertificates(
  deps: ServingDeps,
  options: ServingOptions,
): Promise<TlsSource> {
  const { files = certificateFiles } = deps;
  if (options.certFile !== '') return await fileTls({ ...deps, files }, options);
  const own = await selfSignedTls({ ...deps, files }, options);
  return options.bootstrap ? await signedTls({ ...deps, files, own }, options) : own;
}
