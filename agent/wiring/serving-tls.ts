/** The certificate of the node's server: from files, from the API server's signer, or made here. */
import { isIP } from 'node:net';
import type { ResolvedClientConfig } from '#api/client-config/resolve.ts';
import { fileTls } from '../certs/file-tls.ts';
import { certificateFiles } from '../certs/files.ts';
import { selfSignedTls } from '../certs/self-signed-tls.ts';
import type { ServingNames, TlsSource } from '../certs/tls-source.ts';
import { featureEnabled } from '../config/feature-gates.ts';
import { AGENT_VERSION } from '../version.ts';
import type { Base } from './base.ts';

/** @param clientConfig by which the node asks its API server, once it has got in; undefined where there is none
 *  @throws Error of a file that can't be read, written or used */
export async function servingTls(
  base: Base,
  clientConfig: Promise<ResolvedClientConfig> | undefined,
): Promise<TlsSource> {
  const { config, clock, log, node } = base;
  const { tlsCertFile: certFile, tlsPrivateKeyFile: keyFile, certDir } = config;
  const asks = config.serverTLSBootstrap && featureEnabled(config, 'RotateNodeAgentServerCertificate');
  if (asks && certFile === '' && clientConfig !== undefined) return await signedTls(base, clientConfig);
  const deps = { clock, log, files: certificateFiles };
  if (certFile !== '') return await fileTls(deps, { certFile, keyFile });
  return await selfSignedTls({ ...deps, names: namesOf(base) }, { nodeName: node, certDir });
}

const namesOf =
  ({ node, settings }: Base) =>
  (): ServingNames => ({ dnsNames: isIP(node) === 0 ? [node] : [], ipAddresses: settings.hostIPs() });

/** Loaded by a node alone that asks for its certificate: the client of the API server comes with it. */
async function signedTls(base: Base, opening: Promise<ResolvedClientConfig>): Promise<TlsSource> {
  const { config, clock, log, node, vocabulary } = base;
  const { openServingCertificates } = await import('../certs/serving-certificates.ts');
  const listeners = new Set<() => void>();
  let found: ResolvedClientConfig | undefined;
  const ask = (clientConfig: ResolvedClientConfig): void => {
    found = clientConfig;
    for (const listener of listeners) listener();
  };
  // A node that never gets in ends; it has been told why.
  opening.then(ask, () => undefined);
  return await openServingCertificates(
    {
      clock,
      log,
      vocabulary,
      env: environment(),
      hasTerminal: false,
      passOn: (chunk) => void process.stderr.write(chunk),
      userAgent: `${vocabulary.agentComponent}/${AGENT_VERSION}`,
      clientConfig: () => found,
      names: namesOf(base),
      onNamesChange(listener) {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    },
    { nodeName: node, certDir: config.certDir, certFile: '', keyFile: '', bootstrap: true },
  );
}

function environment(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
