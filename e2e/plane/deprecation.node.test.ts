/** Signals of deprecated endpoints. Document 1 §9.4. */
import { readFile } from 'node:fs/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { usePlane, VOCABULARY_NAMES } from './support.ts';

const dirs: TempDir[] = [];
afterAll(() => Promise.all(dirs.map((dir) => dir[Symbol.asyncDispose]())));

describe.each(VOCABULARY_NAMES)('a deprecated endpoint in the %s vocabulary', (vocabulary) => {
  let log = '';
  const plane = usePlane(vocabulary, async () => {
    const dir = await createTempDir('na-audit-');
    dirs.push(dir);
    log = `${dir.path}/audit.log`;
    return [`--audit-log-path=${log}`];
  });
  const { words } = plane;
  const storage = `storage.${words.apiGroupDomain}`;
  const rows = [
    ['/api/v1/componentstatuses', 'v1 ComponentStatus is deprecated in v1.19+', undefined],
    [
      '/apis/policy/v1beta1/podsecuritypolicies',
      'policy/v1beta1 PodSecurityPolicy is deprecated in v1.21+, unavailable in v1.25+',
      '1.25',
    ],
    [
      '/apis/policy/v1beta1/namespaces/default/poddisruptionbudgets',
      'policy/v1beta1 PodDisruptionBudget is deprecated in v1.21+, unavailable in v1.25+; use policy/v1 PodDisruptionBudget',
      '1.25',
    ],
    [
      `/apis/${storage}/v1beta1/csistoragecapacities`,
      `${storage}/v1beta1 CSIStorageCapacity is deprecated in v1.24+, unavailable in v1.27+; use ${storage}/v1 CSIStorageCapacity`,
      '1.27',
    ],
  ] as const;

  interface AuditEvent {
    readonly requestURI: string;
    readonly stage: string;
    readonly annotations?: Readonly<Record<string, string>>;
  }

  test.each(rows)('%s warns', async (path, text) => {
    const { headers, status } = await plane.get(path);
    expect([status, headers['warning']]).toEqual([200, `299 - "${text}"`]);
  });

  test('a watch and a refused write warn as well', async () => {
    await using watch = await plane.watch('/apis/policy/v1beta1/podsecuritypolicies?watch=1');
    expect(watch.headers['warning']).toContain('PodSecurityPolicy is deprecated');
    const refused = await plane.post('/apis/policy/v1beta1/podsecuritypolicies', {});
    expect([refused.status, refused.headers['warning']]).toEqual([
      422,
      expect.stringContaining('PodSecurityPolicy is deprecated'),
    ]);
  });

  test('its successor does not', async () => {
    const { headers } = await plane.get('/apis/policy/v1/namespaces/default/poddisruptionbudgets');
    expect(headers['warning']).toBeUndefined();
  });

  test('the metric names it', async () => {
    const { text } = await plane.get('/metrics');
    const metric = 'apiserver_requested_deprecated_apis';
    const line = (group: string, version: string, resource: string, removed: string): string =>
      `${metric}{group="${group}",version="${version}",resource="${resource}",subresource="",removed_release="${removed}"} 1\n`;
    expect(text).toContain(line('', 'v1', 'componentstatuses', ''));
    expect(text).toContain(line('policy', 'v1beta1', 'podsecuritypolicies', '1.25'));
    expect(text).toContain(line('policy', 'v1beta1', 'poddisruptionbudgets', '1.25'));
    expect(text).toContain(line(storage, 'v1beta1', 'csistoragecapacities', '1.27'));
    expect(text).not.toContain(`${metric}{group="policy",version="v1",`);
  });

  test('the audit log records it, to its last line', async () => {
    await plane.get('/api/v1/componentstatuses/last');
    await plane.server.stop();
    const text = await readFile(log, 'utf8');
    expect(text.endsWith('}\n')).toBe(true);
    const events = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as AuditEvent)
      .filter(({ stage }) => stage === 'ResponseComplete');
    expect(events.at(-1)?.requestURI).toBe('/api/v1/componentstatuses/last');
    for (const [path, , removed] of rows) {
      const annotations = events.find(({ requestURI }) => requestURI === path)?.annotations;
      expect(annotations).toMatchObject({ [`${words.apiGroupDomain}/deprecated`]: 'true' });
      expect(annotations?.[`${words.apiGroupDomain}/removed-release`]).toBe(removed);
    }
  });
});
