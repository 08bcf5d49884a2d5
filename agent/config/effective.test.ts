import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { configDocument, configzBody, effectiveSettings, formatEffectiveTable } from './effective.ts';
import { type LoadResult, loadConfig } from './load.ts';
import { CONFIG_SETTINGS } from './table.ts';
import { upstreamField, upstreamGate } from './upstream.ts';

type Ok = Extract<LoadResult, { readonly kind: 'ok' }>;

const load = async (argv: readonly string[], file = ''): Promise<Ok> => {
  const result = await loadConfig(argv, { cwd: '/', readFile: () => Promise.resolve(file) });
  if (result.kind !== 'ok') throw new Error(JSON.stringify(result));
  return result;
};

const ARGV = [
  '--max-pods=5',
  '--sync-frequency=90s',
  '--plat-reserved=cpu=1',
  '--feature-gates=NodeAgentPodResources=false',
  '--register-with-taints=a=b:NoExecute',
  '--enforce-node-allocatable=pods,plat-reserved',
  '--plat-reserved-cgroup=/plat.slice',
  '--eviction-hard=memory.available<5%',
  '--log-flush-frequency=1s',
];

describe('formatEffectiveTable', () => {
  test('has a line for every setting', async () => {
    const { config, origins } = await load(ARGV);
    const lines = formatEffectiveTable(config, origins).trimEnd().split('\n');
    expect(lines).toHaveLength(CONFIG_SETTINGS.length + 1);
    expect(lines.some((line) => /^maxPods +5 +--max-pods$/.test(line))).toBe(true);
    expect(lines.some((line) => /^syncFrequency +1m30s +--sync-frequency$/.test(line))).toBe(true);
    expect(lines.some((line) => /^port +10250 +default$/.test(line))).toBe(true);
  });

  test('can omit the defaults', async () => {
    const { config, origins } = await load(['--max-pods=5']);
    expect(formatEffectiveTable(config, origins, { changedOnly: true })).toBe(
      'SETTING  VALUE  ORIGIN\nmaxPods  5      --max-pods\n',
    );
  });

  test.each([
    ['http://host:8080/pods.yaml', 'http://host:8080/pods.yaml'],
    ['https://me:hunter2@host/pods?at=hunter2', 'https://<hidden>@host/pods?<hidden>'],
    ['https://hunter2@host/', 'https://<hidden>@host/'],
  ])('shows the manifest URL %s as %s', async (url, shown) => {
    const { config, origins } = await load([`--manifest-url=${url}`]);
    expect(formatEffectiveTable(config, origins, { changedOnly: true })).toContain(`  ${shown}  `);
    const document: unknown = configDocument(config);
    expect(document).toMatchObject({ staticPodURL: shown });
    expect(JSON.stringify(configzBody(config))).not.toContain('hunter2');
  });

  test('hides secrets', async () => {
    const { config, origins } = await load([
      '--storage-driver-password=hunter2',
      '--manifest-url-header=Authorization:hunter2',
    ]);
    expect(formatEffectiveTable(config, origins)).not.toContain('hunter2');
    expect(JSON.stringify(configzBody(config))).not.toContain('hunter2');
    const shown = effectiveSettings(config, origins).find(({ key }) => key === 'staticPodURLHeader');
    expect(shown?.value).toBe('{"Authorization":["<hidden>"]}');
  });
});

describe('configDocument', () => {
  test.each(['plat', 'kubernetes'] as const)(
    'is a file that gives the same configuration (%s)',
    async (vocabulary) => {
      const first = await load([...ARGV, `--vocabulary=${vocabulary}`]);
      const document = configDocument(first.config);
      const second = await load(['--config=/c'], JSON.stringify(document));
      expect({ ...second.config, config: '' }).toEqual(first.config);
      expect(second.config.maxPods).toBe(5);
    },
  );

  test('uses the names of its vocabulary', async () => {
    const { config } = await load([...ARGV, '--vocabulary=kubernetes']);
    const document = configDocument(config);
    expect(document['kind']).toBe(VOCABULARIES.kubernetes.configKind);
    expect(document['apiVersion']).toBe(`${VOCABULARIES.kubernetes.configApiGroup}/v1beta1`);
    expect(document[upstreamField('platReserved') ?? '']).toEqual({ cpu: '1' });
    expect(document).not.toHaveProperty('platReserved');
    expect(document['featureGates']).toEqual({ [upstreamGate('NodeAgentPodResources') ?? '']: false });
    expect(document['enforceNodeAllocatable']).not.toContain('plat-reserved');
    expect(configzBody(config)).toEqual({ [VOCABULARIES.kubernetes.configzKey]: document });
  });

  test('omits settings that only a flag can set', async () => {
    const { config } = await load([]);
    expect(configDocument(config)).not.toHaveProperty('rootDir');
  });
});
