/** The certificate of the agent's own server. How it is wired:
 *
 *      const tls = await openServingCertificates(deps, options);
 *      server.setSecureContext(contextOf(tls.current()));
 *      tls.onChange((pair) => server.setSecureContext(contextOf(pair)));
 *      void tls.run(signal);
 *
 *  It comes from files that were given, or from the API server's signer (`serverTLSBootstrap`), or it is made here and
 *  vouches for itself. Deviation: until the signer's comes, the one that was made here is shown, where upstream refuses
 *  handshakes: who checks authorities refuses it just so, and nobody else need wait for an approval. Source: document 2, 2.5; document 3, 4.3; upstream's node agent. */
import type { ResolvedClientConfig } from '#api/client-config/resolve.ts';
import { fileTls } from './file-tls.ts';
import { type CertificateFiles, certificateFiles } from './files.ts';
import { selfSignedTls } from './self-signed-tls.ts';
import type { SessionDeps } from './server-session.ts';
import { signedTls } from './signed-tls.ts';
import type { ServingNames, TlsSource } from './tls-source.ts';

export interface ServingDeps extends SessionDeps {
  /** By which the node asks for its serving certificate; `undefined` as long as there is no way to ask. */
  readonly clientConfig: () => ResolvedClientConfig | undefined;
  /** What the node is called just now. */
  readonly names: () => ServingNames;
  /** Calls when that has changed, and when there may be a way to ask. @returns ends that */
  readonly onNamesChange?: (listener: () => void) => () => void;
  /** Default: those of the disk. */
  readonly files?: CertificateFiles;
}

export interface ServingOptions {
  readonly nodeName: string;
  /** `--cert-dir`. */
  readonly certDir: string;
  /** `tlsCertFile` and `tlsPrivateKeyFile`; empty for none. */
  readonly certFile: string;
  readonly keyFile: string;
  /** `serverTLSBootstrap`, where there is an API server. */
  readonly bootstrap: boolean;
  /** Of the signed one. Default: as long as the signer gives. At least 600. */
  readonly expirationSeconds?: number;
}

/** @throws Error that names the file which cannot be read, written or used */
export async function openServingCertificates(
  deps: ServingDeps,
  options: ServingOptions,
): Promise<TlsSource> {
  const { files = certificateFiles } = deps;
  if (options.certFile !== '') return await fileTls({ ...deps, files }, options);
  const own = await selfSignedTls({ ...deps, files }, options);
  return options.bootstrap ? await signedTls({ ...deps, files, own }, options) : own;
}
