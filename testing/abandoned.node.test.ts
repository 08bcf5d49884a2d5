import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { containerdLayout } from '#agent/runtime/managed/layout.ts';
import { isAlive } from '#agent/runtime/managed/purge.ts';
import { containerdIn, removeAbandonedFolders } from './abandoned.ts';
import { createTempDir } from './temp.ts';

/** Starts what a test run starts, prints the directories, and waits to be killed. */
const KILLED_RUN = `
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
const { startTestContainerd } = await import(process.argv[1] + '/containerd.ts');
const { createTempDir } = await import(process.argv[1] + '/temp.ts');
const dir = await createTempDir('na-agent-');
mkdirSync(dir.path + '/volume');
execFileSync('mount', ['-t', 'tmpfs', 'none', dir.path + '/volume']);
const { folder } = await startTestContainerd();
console.log(JSON.stringify([dir.path, folder]));
setInterval(() => undefined, 1000);
`;

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

test('removes what a killed run left behind, and nothing of a running one', async () => {
  await using own = await createTempDir();
  const run = spawn(process.execPath, ['--input-type=module', '--eval', KILLED_RUN, import.meta.dirname], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: join(import.meta.dirname, '..'),
  });
  const exited = once(run, 'exit');
  const [line] = (await once(run.stdout.setEncoding('utf8'), 'data')) as [string];
  const [volumes = '', containerd = ''] = JSON.parse(line) as readonly string[];
  const layout = containerdLayout(containerdIn(containerd));
  const whileItRuns = await removeAbandonedFolders();
  expect(whileItRuns.removed).not.toContain(volumes);
  expect([await exists(volumes), await isAlive(layout)]).toEqual([true, true]);

  run.kill('SIGKILL');
  await exited;
  expect(await isAlive(layout)).toBe(true);
  const { removed } = await removeAbandonedFolders();
  expect(new Set(removed)).toEqual(new Set([...removed, volumes, containerd]));
  expect(await Promise.all([volumes, containerd, own.path].map(exists))).toEqual([false, false, true]);
  expect(await isAlive(layout)).toBe(false);
  expect(await readFile('/proc/self/mountinfo', 'utf8')).not.toContain(`${volumes}/`);
});
