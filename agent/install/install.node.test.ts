import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { silentLogger } from '#api/kit/logger.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { type InstallDeps, install, uninstall } from './install.ts';

const run = promisify(execFile);
const REPOSITORY = resolve(import.meta.dirname, '../..');
/** A runtime that need not exist: nothing is started below another root. */
const ENDPOINT = 'unix:///run/other.sock';

function staged(root: string, repository: string) {
  const calls: string[] = [];
  const deps: InstallDeps = {
    log: silentLogger,
    say: () => undefined,
    systemctl: async (args) => void calls.push(args.join(' ')),
  };
  return {
    calls,
    install: () => install(deps, { repository, root, endpoint: ENDPOINT, start: true }),
    uninstall: (purge: boolean) => uninstall(deps, { repository, root, purge }),
  };
}

/** The program that the checkout installs. Most tests install from it, since bundling the sources for each
 *  would take longer than the test. */
let shipped: TempDir;
let calls: readonly string[];
let program = '';
beforeAll(async () => {
  shipped = await createTempDir();
  const target = staged(shipped.path, REPOSITORY);
  await target.install();
  calls = target.calls;
  program = `${shipped.path}/usr/local/lib/nodeagent`;
});
afterAll(() => shipped[Symbol.asyncDispose]());

async function files(root: string): Promise<readonly string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length));
}

describe('install', () => {
  test('puts program, command, unit and configuration below the root, and starts nothing there', async () => {
    const installed = await files(shipped.path);
    expect(installed).toEqual(
      expect.arrayContaining([
        '/etc/default/nodeagent',
        '/etc/nodeagent/config.yaml',
        '/usr/local/bin/nodeagent',
        '/usr/local/lib/nodeagent/bin/node',
        '/usr/local/lib/nodeagent/package.json',
        '/usr/local/lib/nodeagent/docs/flags.md',
        '/usr/local/lib/nodeagent/agent/install/config.yaml',
        '/usr/local/lib/nodeagent/dist/nodeagent.js',
        '/usr/local/lib/nodeagent/dist/containerd-unit.js',
        '/usr/local/lib/nodeagent/dist/node_modules/koffi/package.json',
        '/usr/local/lib/systemd/system/nodeagent.service',
      ]),
    );
    expect(installed.filter((path) => path.endsWith('.ts'))).toEqual([]);
    expect(calls).toEqual([`--root=${shipped.path} enable nodeagent.service`]);
    const modeOf = async (path: string): Promise<number> =>
      (await stat(`${shipped.path}${path}`)).mode & 0o777;
    expect(await modeOf('/usr/local/bin/nodeagent')).toBe(0o755);
    expect(await modeOf('/etc/nodeagent/manifests')).toBe(0o700);
    expect(await modeOf('/etc/nodeagent/config.yaml')).toBe(0o600);
  });

  test('retains an existing configuration, also when repeated', async () => {
    await using dir = await createTempDir();
    const target = staged(dir.path, program);
    await mkdir(`${dir.path}/etc/nodeagent`, { recursive: true });
    await writeFile(`${dir.path}/etc/nodeagent/config.yaml`, 'mine\n');
    await target.install();
    await target.install();
    expect(await readFile(`${dir.path}/etc/nodeagent/config.yaml`, 'utf8')).toBe('mine\n');
  });
});

describe('the installed program', () => {
  test('runs, and installs itself elsewhere', async () => {
    await using dir = await createTempDir();
    const nodeagent = (...args: string[]) =>
      run(`${program}/bin/node`, [`${program}/dist/nodeagent.js`, ...args]);
    expect((await nodeagent('--version')).stdout).toMatch(/^nodeagent \d/);
    const again = join(dir.path, 'again');
    await nodeagent('install', `--root=${again}`, `--container-runtime-endpoint=${ENDPOINT}`);
    expect(await files(again)).toEqual(
      expect.arrayContaining(['/usr/local/lib/nodeagent/dist/nodeagent.js', '/etc/nodeagent/config.yaml']),
    );
  });
});

describe('uninstall', () => {
  test('removes every installed file', async () => {
    await using dir = await createTempDir();
    const target = staged(dir.path, program);
    await target.install();
    await target.uninstall(false);
    expect(await files(dir.path)).toEqual([]);
    expect(target.calls.at(-1)).toBe(`--root=${dir.path} disable nodeagent.service`);
  });

  test('removes the shutdown delay of the agent', async () => {
    await using dir = await createTempDir();
    const target = staged(dir.path, program);
    await target.install();
    const settings = `${dir.path}/etc/systemd/logind.conf.d`;
    await mkdir(settings, { recursive: true });
    await writeFile(`${settings}/99-nodeagent.conf`, '');
    await writeFile(`${settings}/10-mine.conf`, '');
    await target.uninstall(false);
    expect(await files(dir.path)).toEqual(['/etc/systemd/logind.conf.d/10-mine.conf']);
  });

  test('retains manifests and a changed configuration without --purge', async () => {
    await using dir = await createTempDir();
    const target = staged(dir.path, program);
    await target.install();
    const kept = ['/etc/nodeagent/config.yaml', '/etc/nodeagent/manifests/mine.yaml'];
    for (const path of kept) await writeFile(`${dir.path}${path}`, 'mine\n');
    await target.uninstall(false);
    expect(await files(dir.path)).toEqual(expect.arrayContaining(kept));
    await target.uninstall(true);
    expect(await files(dir.path)).toEqual([]);
  });
});
