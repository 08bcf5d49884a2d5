import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { type InstallDeps, installServer, uninstallServer } from './install.ts';

const REPOSITORY = resolve(import.meta.dirname, '../..');

function staged(root: string, repository: string) {
  const calls: string[] = [];
  const deps: InstallDeps = {
    say: () => undefined,
    systemctl: async (args) => void calls.push(`systemctl ${args.join(' ')}`),
    helper: async (program, args) => void calls.push(`${program} ${args.join(' ')}`),
  };
  return {
    calls,
    install: () => installServer(deps, { repository, root, start: true }),
    uninstall: (purge: boolean) => uninstallServer(deps, { repository, root, purge }),
  };
}

async function files(root: string): Promise<readonly string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length));
}

let shipped: TempDir;
let program = '';
beforeAll(async () => {
  shipped = await createTempDir();
  await staged(shipped.path, REPOSITORY).install();
  program = `${shipped.path}/usr/local/lib/control-plane-lite`;
});
afterAll(() => shipped[Symbol.asyncDispose]());

test('install puts program, user, units and settings below the root, and starts nothing there', async () => {
  await using dir = await createTempDir();
  const target = staged(dir.path, program);
  await target.install();
  const installed = await files(dir.path);
  expect(installed).toEqual(
    expect.arrayContaining([
      '/etc/default/control-plane-lite',
      '/usr/local/bin/control-plane-lite',
      '/usr/local/lib/control-plane-lite/bin/node',
      '/usr/local/lib/control-plane-lite/dist/control-plane-lite.js',
      '/usr/local/lib/control-plane-lite/dist/store-worker.js',
      '/usr/local/lib/systemd/system/control-plane-lite.service',
      '/usr/local/lib/systemd/system/control-plane-lite-backup.timer',
      '/usr/local/lib/sysusers.d/control-plane-lite.conf',
    ]),
  );
  expect(installed.filter((path) => path.endsWith('.ts') || path.endsWith('/nodeagent.js'))).toEqual([]);
  expect(target.calls).toEqual([
    `systemd-sysusers --root=${dir.path} ${dir.path}/usr/local/lib/sysusers.d/control-plane-lite.conf`,
    `systemctl --root=${dir.path} enable control-plane-lite.service control-plane-lite-backup.timer`,
  ]);
  expect((await stat(`${dir.path}/usr/local/bin/control-plane-lite`)).mode & 0o777).toBe(0o755);
});

test('settings of the administrator survive both commands, unless they are purged', async () => {
  await using dir = await createTempDir();
  const target = staged(dir.path, program);
  await mkdir(`${dir.path}/etc/default`, { recursive: true });
  await writeFile(`${dir.path}/etc/default/control-plane-lite`, 'mine\n');
  await target.install();
  await mkdir(`${dir.path}/var/lib/control-plane-lite`, { recursive: true });
  await writeFile(`${dir.path}/var/lib/control-plane-lite/data`, '');
  await target.uninstall(false);
  expect(await readFile(`${dir.path}/etc/default/control-plane-lite`, 'utf8')).toBe('mine\n');
  expect(await files(dir.path)).toHaveLength(2);
  await target.uninstall(true);
  expect(await files(dir.path)).toEqual([]);
});
