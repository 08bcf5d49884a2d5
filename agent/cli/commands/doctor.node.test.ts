import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { TestAgent } from '../../../testing/agent.ts';
import { CLI, type Ended, runCli } from '../../../testing/cli.ts';
import { createTempDir, type TempDir } from '../../../testing/temp.ts';
import type { Finding } from '../../doctor/finding.ts';

let agent: TestAgent;
let plugins: TempDir;
beforeAll(async () => {
  plugins = await createTempDir('na-flex-');
  const flags = [`--volume-plugin-dir=${plugins.path}`];
  agent = await TestAgent.create({ endpoint: inject('criEndpoint'), program: [CLI, 'run'], flags });
});
afterAll(async () => {
  await agent[Symbol.asyncDispose]();
  await plugins[Symbol.asyncDispose]();
});

const findingsOf = ({ out }: Ended): readonly Finding[] =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the program under test wrote it
  (JSON.parse(out) as { findings: readonly Finding[] }).findings;

test('checks the node of a running agent', async () => {
  const ended = await runCli(agent, ['doctor']);
  expect([ended.code, ended.err]).toEqual([0, '']);
  expect(ended.out).toMatch(/^AREA +SUBJECT +STATE +DETAIL\n/);
  expect(ended.out).toMatch(/^agent +agent +ok +running, version \d/m);
  expect(ended.out).toMatch(/^runtime +endpoint +ok +unix:\S+: containerd \S+$/m);
  expect(ended.out).toMatch(/^volumes +emptyDir +ok +supported$/m);
});

test('exits with 1 for a broken driver, and for a missing runtime', async () => {
  const folder = join(plugins.path, 'acme~files');
  await mkdir(folder);
  await writeFile(join(folder, 'files'), '');
  const first = await runCli(agent, ['doctor', '-o', 'json']);
  expect(first.code).toBe(1);
  expect(findingsOf(first).filter(({ state }) => state === 'broken')).toMatchObject([
    { subject: 'flex driver', detail: 'acme/files has no executable in its directory' },
  ]);
  await chmod(join(folder, 'files'), 0o755);
  expect((await runCli(agent, ['doctor', '-o', 'json'])).code).toBe(0);

  const other = await runCli(agent, ['doctor', '-o', 'json', '--container-runtime-endpoint=unix:///nope']);
  expect(other.code).toBe(1);
  expect(findingsOf(other).find(({ subject }) => subject === 'endpoint')?.detail).toContain('unix:///nope');
});
