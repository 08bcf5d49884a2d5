import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createDefaultConfig } from './default-config.ts';
import { formatConfigError } from './errors.ts';
import { type LoadResult, loadConfig } from './load.ts';
import { formatOrigin } from './origin.ts';
import { upstreamDefault, upstreamFlag } from './upstream.ts';

const HEAD = `kind: ${VOCABULARIES.plat.configKind}\napiVersion: ${VOCABULARIES.plat.configApiGroup}/v1beta1\n`;

class NoSuchFile extends Error {
  readonly code = 'ENOENT';
}

const load = (argv: readonly string[], files: Readonly<Record<string, string>> = {}): Promise<LoadResult> =>
  loadConfig(argv, {
    cwd: '/home/me',
    readFile: (path) => {
      const body = files[path];
      return body === undefined ? Promise.reject(new NoSuchFile(path)) : Promise.resolve(`${HEAD}${body}`);
    },
  });

type Ok = Extract<LoadResult, { readonly kind: 'ok' }>;

const loadOk = async (argv: readonly string[], files: Readonly<Record<string, string>> = {}): Promise<Ok> => {
  const result = await load(argv, files);
  if (result.kind !== 'ok') throw new Error(JSON.stringify(result));
  return result;
};

const errors = async (
  argv: readonly string[],
  files: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> => {
  const result = await load(argv, files);
  return result.kind === 'error' ? result.errors.map(formatConfigError) : [result.kind];
};

const originOf = ({ origins }: Ok, key: string): string => {
  const origin = origins.get(key);
  return origin === undefined ? 'missing' : formatOrigin(origin);
};

describe('loadConfig', () => {
  test('has every default without arguments', async () => {
    const { config, origins, warnings } = await loadOk([]);
    expect(config).toEqual(createDefaultConfig());
    expect(warnings).toEqual([]);
    expect([...origins.values()].every(({ kind }) => kind === 'default')).toBe(true);
  });

  test('prefers a flag to the file and the file to the default', async () => {
    const files = { '/home/me/agent.yaml': 'maxPods: 5\nsyncFrequency: 5s\n' };
    const result = await loadOk(['--config', 'agent.yaml', '--max-pods=6', '--root-dir=data'], files);
    expect(result.config).toMatchObject({
      config: '/home/me/agent.yaml',
      maxPods: 6,
      syncFrequency: 5000,
      fileCheckFrequency: 20_000,
      rootDir: '/home/me/data',
    });
    expect(originOf(result, 'maxPods')).toBe('--max-pods');
    expect(originOf(result, 'syncFrequency')).toBe('/home/me/agent.yaml:syncFrequency');
    expect(originOf(result, 'fileCheckFrequency')).toBe('default');
  });

  test('replaces lists and maps of the file, and adds to its feature gates', async () => {
    const files = {
      '/c': 'clusterDNS: [10.0.0.1]\nsystemReserved: {cpu: "1"}\nfeatureGates: {NodeSwap: true, AppArmor: false}\n',
    };
    const result = await loadOk(
      [
        '--config=/c',
        '--cluster-dns=10.0.0.2',
        '--system-reserved=memory=1Gi',
        '--feature-gates=AppArmor=true,AllAlpha=true',
      ],
      files,
    );
    expect(result.config.clusterDNS).toEqual(['10.0.0.2']);
    expect(result.config.systemReserved).toEqual({ memory: '1Gi' });
    expect(result.config.featureGates).toEqual({ NodeSwap: true, AppArmor: true, AllAlpha: true });
    expect(originOf(result, 'featureGates')).toBe('--feature-gates and /c:featureGates');
  });

  test("uses the file's own defaults only with a file", async () => {
    const without = await loadOk([]);
    const withFile = await loadOk(['--config=/c'], { '/c': '' });
    expect(without.config.authorization.mode).toBe('AlwaysAllow');
    expect(withFile.config.authorization.mode).toBe('Webhook');
    expect([without.config.readOnlyPort, withFile.config.readOnlyPort]).toEqual([10_255, 0]);
    expect([
      without.config.authentication.anonymous.enabled,
      withFile.config.authentication.anonymous.enabled,
    ]).toEqual([true, false]);
    expect((await loadOk(['--config=/c', '--read-only-port=10255'], { '/c': '' })).config.readOnlyPort).toBe(
      10_255,
    );
  });

  test('reads zero as the default where upstream does', async () => {
    const result = await loadOk([
      '--event-qps=0',
      '--plat-api-burst=0',
      '--registry-qps=0',
      '--healthz-port=0',
    ]);
    expect(result.config).toMatchObject({
      eventRecordQPS: 5,
      platAPIBurst: 10,
      registryPullQPS: 0,
      healthzPort: 0,
    });
  });

  test('lets defaults follow other settings', async () => {
    const result = await loadOk(
      ['--config=/c', '--container-runtime-endpoint=unix:///run/x.sock', '--root-dir=/data'],
      { '/c': 'nodeStatusUpdateFrequency: 20s' },
    );
    expect(result.config).toMatchObject({
      imageServiceEndpoint: 'unix:///run/x.sock',
      certDir: '/data/pki',
      seccompProfileRoot: '/data/seccomp',
      nodeStatusReportFrequency: 20_000,
    });
    expect(originOf(result, 'certDir')).toBe('default (below rootDir)');
    const explicit = await loadOk(['--root-dir=/data', '--cert-dir=/pki']);
    expect(explicit.config.certDir).toBe('/pki');
  });

  test('uses the names of the vocabulary in defaults, whatever the kind of the file', async () => {
    const plat = await loadOk([]);
    const other = await loadOk(['--vocabulary=kubernetes']);
    expect(plat.config.contentType).toBe(VOCABULARIES.plat.protobufContentType);
    expect(other.config.contentType).toBe(VOCABULARIES.kubernetes.protobufContentType);
    expect(other.config.volumePluginDir).toBe(upstreamDefault('volumePluginDir'));
    const given = await loadOk(['--vocabulary=kubernetes', '--plat-api-content-type=application/json']);
    expect(given.config.contentType).toBe('application/json');
  });

  test('warns of deprecated flags and applies them', async () => {
    const flag = upstreamFlag('plat-reserved') ?? '';
    const { config, warnings } = await loadOk([`--${flag}=cpu=1`]);
    expect(config.platReserved).toEqual({ cpu: '1' });
    expect(warnings).toEqual([
      `Deprecated flags: set these in the file given by --config: --${flag} (platReserved)`,
    ]);
  });

  test('reports errors of flags, of the file and of their combination together', async () => {
    const files = {
      '/c': 'maxPod: 5\nimageGCLowThresholdPercent: 90\ncgroupsPerQOS: false\nevictionSoft: {memory.available: 1Gi}\n',
    };
    const argv = [
      '--config=/c',
      '--max-pods=x',
      '--reserved-cpus=3-1',
      '--unknwon',
      '--lock-file=',
      '--exit-on-lock-contention',
    ];
    expect(await errors(argv, files)).toEqual([
      '--unknwon: Unknown field: no such flag; --help lists all flags',
      '--max-pods: Invalid value: "x": must be a whole number',
      '/c: maxPod: Unknown field: no such field; did you mean maxPods?',
      '--exit-on-lock-contention: Invalid value: true: needs the lock file: --lock-file',
      '/c: imageGCLowThresholdPercent: Invalid value: 90: must be below imageGCHighThresholdPercent, which is 85',
      'enforceNodeAllocatable: Invalid value: ["pods"]: must be empty or none while cgroupsPerQOS is false (see /c:cgroupsPerQOS)',
      '--reserved-cpus: Invalid value: "3-1": the range 3-1 runs backwards',
      '/c: evictionSoft[memory.available]: Invalid value: "1Gi": needs a grace period: evictionSoftGracePeriod with memory.available, such as 1m30s',
    ]);
  });

  test('applies no rule to the default of an invalid value', async () => {
    expect(await errors(['--image-gc-high-threshold=x', '--image-gc-low-threshold=90'])).toEqual([
      '--image-gc-high-threshold: Invalid value: "x": must be a whole number',
    ]);
  });

  test('reports why the file is unreadable, and still validates the flags', async () => {
    expect(await errors(['--config=nowhere.yaml', '--max-pods=-1'])).toEqual([
      '--max-pods: Invalid value: -1: must be at least 0',
      '--config: Invalid value: "/home/me/nowhere.yaml": there is no such file',
    ]);
  });

  test('responds to a request for help before anything else', async () => {
    const result = await load(['--max-pods=x', '-h', '--config=/nowhere']);
    expect(result.kind).toBe('help');
    expect(result.kind === 'help' ? result.text : '').toContain('--max-pods');
    expect((await load(['--help=false'])).kind).toBe('ok');
  });

  test('responds to a request for the version', async () => {
    expect(await load(['--version'])).toEqual({ kind: 'version', raw: false });
    expect(await load(['--version=raw'])).toEqual({ kind: 'version', raw: true });
    expect((await load(['--version=false'])).kind).toBe('ok');
  });
});
