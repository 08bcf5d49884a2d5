import { describe, expect, test } from 'vitest';
import { upstreamAgentFlag } from '#api/vocabulary.ts';
import { ConfigError, parseConfig } from './parse.ts';

const problemsOf = (...argv: readonly string[]): readonly string[] => {
  try {
    parseConfig(argv);
    return [];
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown;
    return thrown.problems;
  }
};

describe('settings of certificates', () => {
  test.each([
    [['--tls-cert-file=a'], ['--tls-cert-file and --tls-private-key-file must be given together']],
    [
      ['--cluster-signing-legacy-unknown-cert-file=a'],
      [
        '--cluster-signing-legacy-unknown-cert-file and --cluster-signing-legacy-unknown-key-file must be given together',
      ],
    ],
    [
      [
        '--cluster-signing-cert-file=a',
        '--cluster-signing-key-file=b',
        '--cluster-signing-nodeagent-serving-cert-file=c',
        '--cluster-signing-nodeagent-serving-key-file=d',
      ],
      ['--cluster-signing-cert-file and --cluster-signing-nodeagent-serving-cert-file exclude each other'],
    ],
    [['--tls-cipher-suites=AES128-SHA'], ['--tls-cipher-suites: "AES128-SHA" is not a cipher suite']],
    [['--tls-min-version=TLS1.2'], [expect.stringContaining('--tls-min-version: "TLS1.2" is none of')]],
    [['--tls-sni-cert-key=a'], [expect.stringContaining('expected a certificate file and a key file')]],
    [['--tls-sni-cert-key=a,b,c'], [expect.stringContaining('expected a certificate file and a key file')]],
    [['--tls-sni-cert-key=a,b:'], [expect.stringContaining('a name after the colon is empty')]],
    [
      ['--strict-transport-security-directives=max-age=x,preload'],
      [expect.stringContaining('"max-age=x" is none of')],
    ],
    [['--cors-allowed-origins=('], [expect.stringContaining('--cors-allowed-origins: "(": ')]],
    [['--cors-allowed-origins=(?=x)'], [expect.stringContaining('--cors-allowed-origins: "(?=x)": ')]],
  ])('%j is rejected', (argv, problems) => {
    expect(problemsOf(...argv)).toEqual(problems);
  });

  test('upstream’s names and values are accepted', () => {
    const signers = ['nodeagent-serving', 'nodeagent-client', 'apiserver-client', 'legacy-unknown'];
    const flags = signers.flatMap((signer) =>
      ['cert', 'key'].map(
        (part) => `--${upstreamAgentFlag(`cluster-signing-${signer}-${part}-file`)}=${signer}.${part}`,
      ),
    );
    const config = parseConfig([
      ...flags,
      '--tls-sni-cert-key=a.crt,a.key:*.a.org,b.org',
      '--tls-sni-cert-key=c.crt,c.key',
      '--tls-cipher-suites=TLS_AES_128_GCM_SHA256,TLS_RSA_WITH_RC4_128_SHA',
      '--strict-transport-security-directives=max-age=31536000,includeSubDomains,preload',
    ]);
    expect(config).toMatchObject({
      clusterSigningNodeagentServingCertFile: 'nodeagent-serving.cert',
      clusterSigningApiserverClientKeyFile: 'apiserver-client.key',
      tlsSniCertKey: ['a.crt,a.key:*.a.org,b.org', 'c.crt,c.key'],
    });
  });
});
