import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { silentLogger } from '#api/kit/logger.ts';
import { createTempDir } from '../testing/temp.ts';
import { type InstallDeps, install, uninstall } from './install.ts';

const REPOSITORY = resolve(import.meta.dirname, '..');
/** A runtime that need not be there: nothing is started below another root. */
const ENDPOINT = 'unix:///run/other.sock';

function staged(root: string) {
  const calls: string[] = [];
  const deps: InstallDeps = {
    log: silentLogger,
    say: () => undefined,
    systemctl: async (args) => void calls.push(args.join(' ')),
  };
  return {
    calls,
    install: () => install(deps, { repository: REPOSITORY, root, endpoint: ENDPOINT, start: true }),
    uninstall: (purge: boolean) => uninstall(deps, { repository: REPOSITORY, root, purge }),
  };
}

async function files(root: string): Promise<readonly string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length));
}

describe('install', () => {
  test('puts program, command, unit and configuration below the root, and starts nothing there', async () => {
    await using dir = await createTempDir();
    const target = staged(dir.path);
    await target.install();
    const installed = await files(dir.path);
    expect(installed).toEqual(
      expect.arrayContaining([
        '/etc/default/nodeagent',
        '/etc/nodeagent/config.yaml',
        '/usr/local/bin/nodeagent',
        '/usr/local/lib/nodeagent/bin/node',
        '/usr/local/lib/nodeagent/package.json',
        '/usr/local/lib/nodeagent/packaging/install.ts',
        '/usr/local/lib/nodeagent/node_modules/pino/package.json',
        '/usr/local/lib/systemd/system/nodeagent.service',
      ]),
    );
    expect(installed.filter((path) => path.startsWith('/usr/local/lib/nodeagent/agent/demo'))).toEqual([]);
    expect(installed.filter((path) => !path.includes('node_modules') && path.endsWith('.test.ts'))).toEqual(
      [],
    );
    expect(installed.filter((path) => path.includes('node_modules/vitest/'))).toEqual([]);
    expect(target.calls).toEqual([`--root=${dir.path} enable nodeagent.service`]);
    expect((await stat(`${dir.path}/usr/local/bin/nodeagent`)).mode & 0o777).toBe(0o755);
  });

  test('keeps a configuration that is there, also when repeated', async () => {
    await using dir = await createTempDir();
    const target = staged(dir.path);
    await mkdir(`${dir.path}/etc/nodeagent`, { recursive: true });
    await writeFile(`${dir.path}/etc/nodeagent/config.yaml`, 'mine\n');
    await target.install();
    await target.install();
    expect(await readFile(`${dir.path}/etc/nodeagent/config.yaml`, 'utf8')).toBe('mine\n');
  });
});

describe('uninstall', () => {
  test('removes every file that install put', async () => {
    await using dir = await createTempDir();
    const target = staged(dir.path);
    await target.install();
    await target.uninstall(false);
    expect(await files(dir.path)).toEqual([]);
    expect(target.calls.at(-1)).toBe(`--root=${dir.path} disable nodeagent.service`);
  });

  test('keeps manifests and a changed configuration unless told to purge', async () => {
    await using dir = await createTempDir();
    const target = staged(dir.path);
    await target.install();
    const kept = ['/etc/nodeagent/config.yaml', '/etc/nodeagent/manifests/mine.yaml'];
    for (const path of kept) await writeFile(`${dir.path}${path}`, 'mine\n');
    await target.uninstall(false);
    expect(await files(dir.path)).toEqual(expect.arrayContaining(kept));
    await target.uninstall(true);
    expect(await files(dir.path)).toEqual([]);
  });
});
