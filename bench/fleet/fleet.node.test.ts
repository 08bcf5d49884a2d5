/** A small fleet passes through all phases of a large one. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createTempDir } from '../../testing/temp.ts';
import { runFleet } from './run.ts';

const SERVER = join(import.meta.dirname, '..', '..', 'control-plane-lite', 'bin.ts');
const SMALL = { agents: 20, pods: 100, processes: 1, agentsPerSecond: 200, podsPerSecond: 1000 };

test('twenty agents register, run a hundred pods and roll out a new revision', {
  timeout: 300_000,
}, async () => {
  const said: string[] = [];
  await using folder = await createTempDir('na-fleet-');
  await using stack = new AsyncDisposableStack();
  const say = (line: string): void => void said.push(line);
  const figures = await runFleet(
    { size: SMALL, dir: folder.path, program: SERVER, say, steadyMs: 500 },
    stack,
  );
  expect(figures.fill.starts?.count).toBe(100);
  expect(figures.rollout.starts?.count).toBe(25);
  expect(figures.registration.verbs.map(({ verb }) => verb)).toContain('POST');
  expect(figures.watch.count).toBeGreaterThan(0);
  // The agents are real: each has its directory and a certificate that it requested.
  const names = (await readdir(join(folder.path, 'agents'))).filter((name) => name.startsWith('node-'));
  expect(names).toHaveLength(SMALL.agents);
  expect(await readdir(join(folder.path, 'agents', 'node-7', 'pki'))).toContain(
    'nodeagent-client-current.pem',
  );
});
