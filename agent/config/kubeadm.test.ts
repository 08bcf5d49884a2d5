/** Configuration files as upstream's installer writes them, of every minor release from 1.20 to 1.33: each
 *  starts the agent as it would start upstream's, with defaults for its zeros. */
import { describe, expect, test } from 'vitest';
import { UPSTREAM_CONFIG_KIND, VOCABULARIES } from '#api/vocabulary.ts';
import { loadConfig } from './load.ts';

const MINORS = Array.from({ length: 14 }, (_, index) => 20 + index);
const HEAD = `apiVersion: ${VOCABULARIES.kubernetes.configApiGroup}/v1beta1\nkind: ${UPSTREAM_CONFIG_KIND}\n`;

/** Members that the installer sets itself. */
const SET = `authentication:
  anonymous:
    enabled: false
  webhook:
    cacheTTL: 0s
    enabled: true
  x509:
    clientCAFile: /etc/pki/ca.crt
authorization:
  mode: Webhook
  webhook:
    cacheAuthorizedTTL: 0s
    cacheUnauthorizedTTL: 0s
clusterDNS:
- 10.96.0.10
clusterDomain: cluster.local
healthzBindAddress: 127.0.0.1
healthzPort: 10248
rotateCertificates: true
staticPodPath: /etc/manifests
`;

/** Members that the serializer always writes, each with the zero value of its type. */
const ZEROS = `cpuManagerReconcilePeriod: 0s
evictionPressureTransitionPeriod: 0s
fileCheckFrequency: 0s
httpCheckFrequency: 0s
imageMinimumGCAge: 0s
nodeStatusReportFrequency: 0s
nodeStatusUpdateFrequency: 0s
runtimeRequestTimeout: 0s
streamingConnectionIdleTimeout: 0s
syncFrequency: 0s
volumeStatsAggPeriod: 0s
`;

function fileOf(minor: number): string {
  const since = (first: number, text: string): string => (minor >= first ? text : '');
  const options = [
    '  options:\n    json:\n      infoBufferSize: "0"\n',
    since(31, '    text:\n      infoBufferSize: "0"\n'),
  ].join('');
  return [
    HEAD,
    SET,
    since(21, 'cgroupDriver: systemd\n'),
    ZEROS,
    since(21, 'shutdownGracePeriod: 0s\nshutdownGracePeriodCriticalPods: 0s\n'),
    // The first release with a logging section wrote it without these members.
    minor >= 20 && minor < 23 ? 'logging: {}\n' : '',
    since(23, `logging:\n  flushFrequency: ${minor < 27 ? '0' : '0s'}\n${options}  verbosity: 0\n`),
    since(22, 'memorySwap: {}\n'),
    since(22, 'resolvConf: /run/systemd/resolve/resolv.conf\n'),
    since(27, 'containerRuntimeEndpoint: ""\n'),
    since(29, 'imageMaximumGCAge: 0s\n'),
    since(32, 'crashLoopBackOff: {}\n'),
  ].join('');
}

const load = (text: string, flags: readonly string[] = []) =>
  loadConfig(['--config=/c.yaml', ...flags], { cwd: '/', readFile: () => Promise.resolve(text) });

async function loadOk(text: string) {
  const loaded = await load(text);
  if (loaded.kind !== 'ok') throw new Error(JSON.stringify(loaded));
  return loaded;
}

async function errorsOf(text: string, flags: readonly string[] = []): Promise<string> {
  const loaded = await load(text, flags);
  return loaded.kind === 'error' ? JSON.stringify(loaded.errors) : loaded.kind;
}

const MINUTE = 60_000;

describe.each(MINORS)('the file of 1.%i', (minor) => {
  test('starts the agent, and zeros are the defaults', async () => {
    const { config, warnings } = await loadOk(fileOf(minor));
    expect(config).toMatchObject({
      syncFrequency: MINUTE,
      fileCheckFrequency: 20_000,
      httpCheckFrequency: 20_000,
      runtimeRequestTimeout: 2 * MINUTE,
      cpuManagerReconcilePeriod: 10_000,
      nodeStatusUpdateFrequency: 10_000,
      nodeStatusReportFrequency: 5 * MINUTE,
      evictionPressureTransitionPeriod: 5 * MINUTE,
      imageMinimumGCAge: 2 * MINUTE,
      streamingConnectionIdleTimeout: 240 * MINUTE,
      volumeStatsAggPeriod: MINUTE,
      shutdownGracePeriod: 0,
      logging: { flushFrequency: 5000 },
      authentication: { webhook: { cacheTTL: 2 * MINUTE }, x509: { clientCAFile: '/etc/pki/ca.crt' } },
      authorization: { webhook: { cacheAuthorizedTTL: 5 * MINUTE, cacheUnauthorizedTTL: 30_000 } },
      staticPodPath: '/etc/manifests',
      containerRuntimeEndpoint: '',
    });
    expect(config.cgroupDriver).toBe(minor >= 21 ? 'systemd' : 'cgroupfs');
    const named = [
      ...(minor >= 31 ? ['logging.options.text (1.31)'] : []),
      ...(minor >= 29 ? ['imageMaximumGCAge (1.29)'] : []),
      ...(minor >= 32 ? ['crashLoopBackOff (1.32)'] : []),
    ];
    expect(warnings).toEqual(
      named.length === 0
        ? []
        : [`/c.yaml: ignored, as they belong to other releases than 1.24: fields ${named.join(', ')}`],
    );
  });

  test('rejects misspelt fields in it, with a suggestion', async () => {
    expect(await errorsOf(`${fileOf(minor)}maxPod: 5\n`)).toContain('did you mean maxPods?');
    expect(await errorsOf(`${fileOf(minor)}featureGates: {NodeSwop: true}\n`)).toContain('NodeSwap');
  });
});

describe('other releases', () => {
  test('fields and gates with content are named in one warning, whatever is in them', async () => {
    const text = `${fileOf(33)}maxParallelImagePulls: 5
tracing: {endpoint: "localhost:4317", samplingRatePerMillion: 100}
userNamespaces: {idsPerPod: 65536}
featureGates: {InPlacePodVerticalScaling: true, NodeSwap: true, IPv6DualStack: true}
memorySwap: {swapBehavior: NoSwap}
`.replace('memorySwap: {}\n', '');
    const { config, warnings } = await loadOk(text);
    expect(warnings).toHaveLength(1);
    for (const name of [
      'maxParallelImagePulls (1.27)',
      'tracing (1.25)',
      'memorySwap.swapBehavior (later)',
    ]) {
      expect(warnings[0]).toContain(name);
    }
    expect(warnings[0]).toContain('feature gates InPlacePodVerticalScaling, IPv6DualStack');
    expect(config.featureGates).toEqual({ NodeSwap: true });
    expect(config.memorySwap.swapBehavior).toBe('');
  });

  test('the endpoint of the file is used, and a flag overrides it', async () => {
    const text = `${HEAD}containerRuntimeEndpoint: unix:///run/x.sock\n`;
    const { config, warnings } = await loadOk(text);
    expect(config.containerRuntimeEndpoint).toBe('unix:///run/x.sock');
    expect(config.imageServiceEndpoint).toBe('unix:///run/x.sock');
    expect(warnings).toEqual([]);
    const flag = await load(text, ['--container-runtime-endpoint=unix:///run/y.sock']);
    expect(flag.kind === 'ok' && flag.config.containerRuntimeEndpoint).toBe('unix:///run/y.sock');
  });

  test('flags are read strictly', async () => {
    expect(await errorsOf(HEAD, ['--sync-frequency=0s'])).toContain('must be longer than 0s');
  });

  test('a follower of a default that is written as zero follows', async () => {
    const { config } = await loadOk(`${HEAD}nodeStatusUpdateFrequency: 30s\nnodeStatusReportFrequency: 0s\n`);
    expect(config.nodeStatusReportFrequency).toBe(30_000);
  });
});
