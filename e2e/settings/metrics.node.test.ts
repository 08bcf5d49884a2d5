/** The metrics of a real agent against the table of names that upstream's dashboards read. */
import { describe, expect, inject, test } from 'vitest';
import TABLE from '#agent/metrics/data/names.json' with { type: 'json' };
import { VOCABULARIES, type Vocabulary } from '#api/vocabulary.ts';
import { isReady, TestAgent } from '../../testing/agent.ts';
import { freePort } from '../../testing/free-port.ts';
import { eventually } from '../../testing/wait.ts';
import { startJoined } from '../joined/support.ts';

const podText = (name: string, command: readonly string[]): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      hostNetwork: true,
      terminationGracePeriodSeconds: 0,
      volumes: [{ name: 'empty', emptyDir: {} }],
      containers: [
        {
          name: 'main',
          image: 'local/busybox:1',
          command,
          volumeMounts: [{ name: 'empty', mountPath: '/empty' }],
        },
      ],
    },
  });

interface Family {
  readonly type: string;
  readonly labels: readonly string[];
}

/** Returns the metrics of a scrape with the labels of their first series. */
function familiesOf(text: string): ReadonlyMap<string, Family> {
  const lines = text.split('\n');
  const types = lines.flatMap((line) => {
    const { name, type } = /^# TYPE (?<name>\S+) (?<type>\S+)$/.exec(line)?.groups ?? {};
    return name === undefined || type === undefined ? [] : [[name, type] as const];
  });
  return new Map(
    types.map(([name, type]) => {
      const series = new RegExp(`^${name}(?:_count)?(?:\\{(?<labels>.*)\\})? `);
      const found = lines.map((line) => series.exec(line)).find((match) => match !== null);
      const labels = [...(found?.groups?.['labels'] ?? '').matchAll(/(?<label>\w+)="/g)].map(
        ({ groups }) => groups?.['label'] ?? '',
      );
      return [name, { type, labels: labels.sort() }];
    }),
  );
}

type Row = (typeof TABLE.metrics)[number];

function fullName({ name, prefix }: Row, { agentComponent, apiService }: Vocabulary): string {
  if (prefix === 'none') return name;
  return `${prefix === 'agent' ? agentComponent : apiService}_${name}`;
}

async function scrape(port: number): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  return await response.text();
}

const expected = (rows: readonly Row[], vocabulary: Vocabulary): Readonly<Record<string, Family>> =>
  Object.fromEntries(
    rows.map((row) => [fullName(row, vocabulary), { type: row.type, labels: [...row.labels].sort() }]),
  );

/** Metrics of failures that the test causes. */
const CAUSED = new Set(['runtime_operations_errors_total', 'started_containers_errors_total']);

describe.each(['plat', 'kubernetes'] as const)('with vocabulary %s', (name) => {
  test('a standalone agent has every metric of the table', async () => {
    const port = await freePort();
    await using agent = await TestAgent.create({
      endpoint: inject('criEndpoint'),
      flags: [
        `--vocabulary=${name}`,
        '--enable-server=true',
        '--address=127.0.0.1',
        `--port=${await freePort()}`,
        `--read-only-port=${port}`,
      ],
    });
    await agent.put('web.json', podText('web', ['sleep', '100000']));
    await agent.put('bad.json', podText('bad', ['/no/such/program']));
    await agent.waitFor('web', isReady);
    const rows = TABLE.metrics.filter(({ of, name: metric }) => of === 'standalone' || CAUSED.has(metric));
    const wanted = expected(rows, VOCABULARIES[name]);
    await eventually(
      async () => {
        const found = familiesOf(await scrape(port));
        expect(Object.fromEntries([...found].filter(([metric]) => metric in wanted))).toEqual(wanted);
        return true;
      },
      { what: 'every metric is there' },
    );
  });
});

test('a joined agent measures its requests and its certificates', async () => {
  const port = await freePort();
  await using joined = await startJoined([
    '--enable-server=true',
    '--address=127.0.0.1',
    `--read-only-port=${port}`,
  ]);
  expect(joined.agent.pid).toBeGreaterThan(0);
  const rows = TABLE.metrics.filter(({ of }) => of === 'joined');
  const wanted = expected(rows, VOCABULARIES.plat);
  await eventually(
    async () => {
      const found = familiesOf(await scrape(port));
      expect(Object.fromEntries([...found].filter(([metric]) => metric in wanted))).toEqual(wanted);
      return true;
    },
    { what: 'every metric is there' },
  );
});
