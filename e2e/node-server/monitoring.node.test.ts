/** The monitoring examples in a real Prometheus, which scrapes a real API server and a real agent: every query of every
 *  panel and rule returns data. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { issueIdentity } from '#api/pki/certificate.ts';
import { freePort } from '../../testing/free-port.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { sh, WAIT } from '../lifecycle/support.ts';
import { useKubectl } from '../plane-clients/kubectl.ts';
import { useNode } from './support.ts';

const EXAMPLES = `${import.meta.dirname}/../../examples/monitoring`;
const PROGRAMS = ['control-plane-lite', 'nodeagent'];
const JOBS = [
  'control-plane-lite',
  'nodeagent',
  'nodeagent-cadvisor',
  'nodeagent-probes',
  'nodeagent-resource',
];

const node = useNode({ flags: () => ['--vocabulary=kubernetes'] });
const kubectl = useKubectl(() => node.plane.server.platconfigFile);

let dir: TempDir;
let prometheus: ChildProcess | undefined;
let url: string;

/** A client certificate of the user that `access.yml` names. */
async function writeCertificates(): Promise<void> {
  const pki = `${node.plane.server.dir}/pki`;
  const authority = {
    certificate: await readFile(`${pki}/ca.crt`, 'utf8'),
    key: await readFile(`${pki}/ca.key`, 'utf8'),
  };
  const { certificate, key } = issueIdentity(authority, {
    subject: { commonName: 'prometheus' },
    extendedUsages: ['clientAuth'],
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 3_600_000),
  });
  await writeFile(`${dir.path}/client.crt`, certificate);
  await writeFile(`${dir.path}/client.key`, key);
  await writeFile(`${dir.path}/ca.crt`, node.plane.server.credentials().ca);
  await copyFile(`${pki}/node-serving-ca.crt`, `${dir.path}/node-serving-ca.crt`);
}

/** The example with the places of this test, and frequent scrapes. */
async function writeConfiguration(): Promise<void> {
  const text = await readFile(`${EXAMPLES}/prometheus.yml`, 'utf8');
  const own = text
    .replaceAll('/etc/prometheus/cluster', dir.path)
    .replaceAll('192.0.2.1:6443', new URL(node.plane.server.url).host)
    .replaceAll('interval: 15s', 'interval: 1s');
  await writeFile(`${dir.path}/prometheus.yml`, own);
  for (const program of PROGRAMS)
    await copyFile(`${EXAMPLES}/${program}.rules.yml`, `${dir.path}/${program}.rules.yml`);
  const nodes = await kubectl.ok(`get nodes -o jsonpath-file=${EXAMPLES}/nodes.jsonpath`);
  await writeFile(`${dir.path}/nodes.yml`, nodes);
}

beforeAll(async () => {
  dir = await createTempDir('na-prometheus-');
  await node.run('web', {
    hostNetwork: false,
    containers: [
      sh('main', WAIT, {
        resources: { limits: { cpu: '100m', memory: '64Mi' } },
        livenessProbe: { exec: { command: ['true'] }, periodSeconds: 1 },
      }),
    ],
  });
  await kubectl.ok(`apply -f ${EXAMPLES}/access.yml`);
  await writeCertificates();
  await writeConfiguration();
  const address = `127.0.0.1:${await freePort()}`;
  url = `http://${address}`;
  prometheus = spawn(
    'prometheus',
    [
      `--config.file=${dir.path}/prometheus.yml`,
      `--storage.tsdb.path=${dir.path}/data`,
      `--web.listen-address=${address}`,
      '--log.level=error',
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
}, 120_000);

afterAll(async () => {
  if (prometheus?.exitCode === null) {
    const ended = once(prometheus, 'exit');
    prometheus.kill('SIGKILL');
    await ended;
  }
  await dir[Symbol.asyncDispose]();
});

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [at: number, value: string];
}

async function ask<T>(path: string): Promise<T> {
  const response = await fetch(`${url}/api/v1/${path}`);
  const { data, error } = (await response.json()) as { readonly data: T; readonly error?: string };
  if (error !== undefined) throw new Error(`${path}: ${error}`);
  return data;
}
const query = async (expression: string): Promise<readonly Sample[]> =>
  (
    await ask<{ readonly result: readonly Sample[] }>(
      `query?${new URLSearchParams({ query: expression }).toString()}`,
    )
  ).result;

interface Dashboard {
  readonly panels: readonly { readonly targets?: readonly { readonly expr: string }[] }[];
}
interface Rules {
  readonly groups: readonly {
    readonly rules: readonly { readonly expr: string; readonly alert?: string }[];
  }[];
}

/** The value that an alert compares with a number. */
const compared = (expression: string): string => expression.replace(/ (?:>|<|==) [\d.]+$/, '');

async function queries(): Promise<readonly string[]> {
  const found: string[] = [];
  for (const program of PROGRAMS) {
    const dashboard = await readFile(`${EXAMPLES}/${program}.dashboard.json`, 'utf8');
    const { panels } = JSON.parse(dashboard) as Dashboard;
    found.push(...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)));
    const { groups } = parse(await readFile(`${EXAMPLES}/${program}.rules.yml`, 'utf8')) as Rules;
    const rules = groups.flatMap((group) => group.rules);
    found.push(...rules.map(({ alert, expr }) => (alert === undefined ? expr : compared(expr))));
  }
  return found;
}

const hasData = async (expression: string): Promise<boolean> =>
  (await query(expression)).some(({ value: [, value] }) => value !== 'NaN');

test('all targets are scraped, with the rights of access.yml', { timeout: 120_000 }, async () => {
  const up = await eventually(
    async () => {
      const samples = await query('up == 1');
      return samples.length === JOBS.length && samples;
    },
    { timeoutMs: 100_000, intervalMs: 500 },
  );
  expect(up.map(({ metric }) => metric['job'] ?? '').toSorted()).toEqual(JOBS);
  expect(up.filter(({ metric }) => metric['instance'] === 'n1')).toHaveLength(JOBS.length - 1);
});

test('every query returns data', { timeout: 240_000 }, async () => {
  const all = await queries();
  expect(all.length).toBeGreaterThan(40);
  const configMaps = '/api/v1/namespaces/default/configmaps';
  let left = all;
  await eventually(
    async () => {
      // Durations need requests.
      await node.plane.post(configMaps, { metadata: { name: 'one' } });
      await node.plane.delete(`${configMaps}/one`);
      const results = await Promise.all(left.map(hasData));
      left = left.filter((_, index) => results[index] !== true);
      if (left.length > 0) throw new Error(`without data: ${left.join('\n')}`);
      return true;
    },
    { timeoutMs: 200_000, intervalMs: 1000, what: 'all queries have data' },
  );
});

test('all rules are evaluated', async () => {
  const { groups } = await ask<{
    readonly groups: readonly {
      readonly rules: readonly { readonly name: string; readonly health: string }[];
    }[];
  }>('rules');
  const unhealthy = groups.flatMap(({ rules }) => rules.filter(({ health }) => health !== 'ok'));
  expect(groups).toHaveLength(PROGRAMS.length);
  expect(unhealthy).toEqual([]);
});
