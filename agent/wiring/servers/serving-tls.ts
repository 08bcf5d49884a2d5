/** Serving certificate of the node server: from files, from the signer of the API server, or self-signed. */

import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { ResolvedClientConfig } from '#api/client-config/resolve.ts';
import { createListeners } from '#api/kit/listeners.ts';
import { fileTls } from '../../certs/file-tls.ts';
import { certificateFiles } from '../../certs/files.ts';
import { type Validity, validityOf } from '../../certs/rotation.ts';
import { selfSignedTls } from '../../certs/self-signed-tls.ts';
import {
  createServingNames,
  type NodeAddresses,
  type ServingNamesSource,
} from '../../certs/serving-names.ts';
import type { TlsSource } from '../../certs/tls-source.ts';
import { featureEnabled } from '../../config/feature-gates.ts';
import { addCertificateMetric, createRotationMetric } from '../../metrics/api-metrics.ts';
import { AGENT_VERSION } from '../../version.ts';
import type { Base } from '../base.ts';
import type { ServerAccess } from './server-access.ts';

const NO_ADDRESSES: NodeAddresses = { current: () => [], onChange: () => () => undefined };

/** @param access to the API server; undefined without one
 *  @throws Error for a file that cannot be read, written or used */
export async function servingTls(
  base: Base,
  access: Pick<ServerAccess, 'clientConfig' | 'addresses'> | undefined,
): Promise<TlsSource> {
  const { config, clock, log, node, settings } = base;
  const { tlsCertFile: certFile, tlsPrivateKeyFile: keyFile, certDir } = config;
  const asks = config.serverTLSBootstrap && featureEnabled(config, 'RotateNodeAgentServerCertificate');
  const own = { dnsNames: isIP(node) === 0 ? [node] : [], ipAddresses: settings.hostIPs() };
  const names = createServingNames(access?.addresses ?? NO_ADDRESSES, own);
  if (asks && certFile === '' && access !== undefined) {
    return await signedTls(base, access.clientConfig, names);
  }
  const deps = { clock, log, files: certificateFiles };
  if (certFile !== '') return await fileTls(deps, { certFile, keyFile });
  return await selfSignedTls(
    { ...deps, names: () => names.current(), onNamesChange: (listener) => names.onChange(listener) },
    { nodeName: node, certDir },
  );
}

/** Reports the remaining validity of the certificate, and its replacements. */
export function measureServing({ metrics, clock }: Base, tls: TlsSource): void {
  const read = (): Validity => validityOf(new X509Certificate(tls.current().certificate));
  let known = read();
  const rotated = createRotationMetric(metrics);
  tls.onChange(() => {
    rotated(clock.now() - known.fromMs);
    known = read();
  });
  addCertificateMetric(metrics, 'server', { notAfterMs: () => known.untilMs, nowMs: () => clock.now() });
}

/** Loaded only by a node that requests its certificate, since it includes the API client. */
async function signedTls(
  base: Base,
  opening: Promise<ResolvedClientConfig>,
  names: ServingNamesSource,
): Promise<TlsSource> {
  const { config, clock, log, node, vocabulary } = base;
  const { openServingCertificates } = await import('../../certs/serving-certificates.ts');
  const listeners = createListeners('client configuration');
  let found: ResolvedClientConfig | undefined;
  const ask = (clientConfig: ResolvedClientConfig): void => {
    found = clientConfig;
    listeners.notify();
  };
  // A node that can never join stops, and its reason has been logged.
  opening.then(ask, () => undefined);
  return await openServingCertificates(
    {
      clock,
      log,
      vocabulary,
      env: environment(),
      hasTerminal: false,
      waits: base.waits,
      passOn: (chunk) => void process.stderr.write(chunk),
      userAgent: `${vocabulary.agentComponent}/${AGENT_VERSION}`,
      clientConfig: () => found,
      names: () => names.current(),
      onNamesChange(listener) {
        listeners.add(listener);
        const end = names.onChange(listener);
        return () => {
          listeners.delete(listener);
          end();
        };
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
