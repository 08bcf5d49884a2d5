/** The certificate of the node's server: from files, from the API server's signer, or made here. */

import { fileTls } from '../certs/file-tls.ts';
import { certificateFiles } from '../certs/files.ts';
import { selfSignedTls } from '../certs/self-signed-tls.ts';
import type { ServingNames, TlsSource } from '../certs/tls-source.ts';
import { AGENT_VERSION } from '../version.ts';
import type { Base } from './base.ts';

/** @throws Error of a file that can't be read, written or used */
export async function servingTls(base: Base): Promise<TlsSource> {
  const { config, clock, log, node } = base;
  const { tlsCertFile: certFile, tlsPrivateKeyFile: keyFile, certDir } = config;
  if (config.serverTLSBootstrap && certFile === '' && config.platconfig !== '') return signedTls(base);
  const deps = { clock, log, files: certificateFiles };
  if (certFile !== '') return fileTls(deps, { certFile, keyFile });
  return selfSignedTls({ ...deps, names: namesOf(base) }, { nodeName: node, certDir });
}

const namesOf =
  ({ node, settings }: Base) =>
  (): ServingNames => ({ dnsNames: [node], ipAddresses: settings.hostIPs() });

/** Loaded by a node alone that asks for its certificate: the client of the API server comes with it. */
async function signedTls(base: Base): Promise<TlsSource> {
  const { config, clock, log, node, vocabulary } = base;
  const [{ openServingCertificates }, { loadClientConfig }] = await Promise.all([
    import('../certs/serving-certificates.ts'),
    import('../api-client/load.ts'),
  ]);
  const { config: server } = await loadClientConfig(config.platconfig);
  return openServingCertificates(
    {
      clock,
      log,
      vocabulary,
      env: environment(),
      hasTerminal: false,
      passOn: (chunk) => void process.stderr.write(chunk),
      userAgent: `${vocabulary.agentComponent}/${AGENT_VERSION}`,
      clientConfig: () => server,
      names: namesOf(base),
    },
    { nodeName: node, certDir: config.certDir, certFile: '', keyFile: '', bootstrap: true },
  );
}

function environment(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
