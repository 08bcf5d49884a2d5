/** Checks settings of certificates and TLS. Pure. Source: upstream's validation, release 1.24. */
import { isGoSuite } from '#api/pki/suite-names.ts';
import { compilePattern } from '../custom/schema/pattern/compile.ts';
import { PatternError } from '../custom/schema/pattern/parse.ts';
import { CERTIFICATES, type CertificateConfig } from './groups/certificates.ts';
import { parseSniValue } from './sni.ts';

type FileKey = Extract<keyof CertificateConfig, `${string}File`>;

const PAIRS: readonly (readonly [certificate: FileKey, key: FileKey])[] = [
  ['tlsCertFile', 'tlsPrivateKeyFile'],
  ['clusterSigningCertFile', 'clusterSigningKeyFile'],
  ['clusterSigningNodeagentServingCertFile', 'clusterSigningNodeagentServingKeyFile'],
  ['clusterSigningNodeagentClientCertFile', 'clusterSigningNodeagentClientKeyFile'],
  ['clusterSigningApiserverClientCertFile', 'clusterSigningApiserverClientKeyFile'],
  ['clusterSigningLegacyUnknownCertFile', 'clusterSigningLegacyUnknownKeyFile'],
  ['proxyClientCertFile', 'proxyClientKeyFile'],
];

const flagOf = (key: keyof CertificateConfig): string => `--${CERTIFICATES[key].flag}`;

function pairErrors(config: CertificateConfig): readonly string[] {
  const errors = PAIRS.filter(
    ([certificate, key]) => (config[certificate] === '') !== (config[key] === ''),
  ).map(([certificate, key]) => `${flagOf(certificate)} and ${flagOf(key)} must be given together`);
  const isSingle = (key: FileKey): boolean =>
    key.startsWith('clusterSigning') && key !== 'clusterSigningCertFile' && key !== 'clusterSigningKeyFile';
  const single = PAIRS.flat().find((key) => isSingle(key) && config[key] !== '');
  const isGeneral = config.clusterSigningCertFile !== '' || config.clusterSigningKeyFile !== '';
  if (!isGeneral || single === undefined) return errors;
  return [...errors, `${flagOf('clusterSigningCertFile')} and ${flagOf(single)} exclude each other`];
}

function directiveError(directive: string): string | undefined {
  if (directive === 'includeSubDomains' || directive === 'preload') return undefined;
  return /^max-age=\d+$/.test(directive)
    ? undefined
    : `${flagOf('strictTransportSecurityDirectives')}: ${JSON.stringify(directive)} is none of max-age=SECONDS, includeSubDomains, preload`;
}

function originError(pattern: string): string | undefined {
  try {
    compilePattern(pattern);
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof PatternError)) throw thrown;
    return `${flagOf('corsAllowedOrigins')}: ${JSON.stringify(pattern)}: ${thrown.message}`;
  }
}

function sniError(value: string): string | undefined {
  const parsed = parseSniValue(value);
  return 'problem' in parsed
    ? `${flagOf('tlsSniCertKey')}: ${JSON.stringify(value)}: ${parsed.problem}`
    : undefined;
}

export function certificateErrors(config: CertificateConfig): readonly string[] {
  const isText = (text: string | undefined): text is string => text !== undefined;
  return [
    ...pairErrors(config),
    ...config.tlsCipherSuites
      .filter((name) => !isGoSuite(name))
      .map((name) => `${flagOf('tlsCipherSuites')}: ${JSON.stringify(name)} is not a cipher suite`),
    ...config.tlsSniCertKey.map(sniError).filter(isText),
    ...config.strictTransportSecurityDirectives.map(directiveError).filter(isText),
    ...config.corsAllowedOrigins.map(originError).filter(isText),
  ];
}
