import { describe, expect, test } from 'vitest';
import { type ExecPluginRun, runExecPlugin } from './run-exec-plugin.ts';

const node = (script: string, change: Partial<ExecPluginRun> = {}): ExecPluginRun => ({
  command: process.execPath,
  args: ['--eval', script, 'a b', '$HOME'],
  env: { A: '1' },
  interactive: false,
  installHint: '',
  timeoutMs: 60_000,
  passOn: () => undefined,
  ...change,
});
const { signal } = new AbortController();

describe('runExecPlugin', () => {
  test('passes arguments and environment unchanged, and forwards standard error', async () => {
    const passed: Uint8Array[] = [];
    const script =
      'process.stderr.write("look"); process.stdout.write(JSON.stringify([process.argv.slice(1), process.env]))';
    const output = await runExecPlugin(node(script, { passOn: (chunk) => passed.push(chunk) }), signal);
    expect(JSON.parse(output)).toEqual([['a b', '$HOME'], { A: '1' }]);
    expect(Buffer.concat(passed).toString()).toBe('look');
  });

  test.each<[string, Partial<ExecPluginRun>, string]>([
    [
      'a name that is not in PATH',
      { command: 'na-none' },
      'na-none was not found in PATH: install it, or correct user.exec.command',
    ],
    [
      'a missing file, with its hint',
      { command: '/none/x', installHint: 'apt install x\n' },
      '/none/x was not found: install it, or correct user.exec.command\napt install x',
    ],
    [
      'arguments that are too long',
      { command: '/bin/true', args: ['x'.repeat(4_000_000)] },
      '/bin/true could not be run: E2BIG',
    ],
    ['a file that is no program', { command: '/etc/passwd' }, '/etc/passwd could not be run: EACCES'],
  ])('reports %s', async (_, change, message) => {
    await expect(runExecPlugin(node('', change), signal)).rejects.toThrow(
      expect.objectContaining({ name: 'ExecPluginError', message: `credential plugin ${message}` }),
    );
  });

  test.each<[string, string, Partial<ExecPluginRun>, string]>([
    ['fails', 'console.log("secret"); process.exit(3)', {}, 'exited with code 3'],
    [
      'prints too much',
      'const all = "x".repeat(65536); const more = () => { while (process.stdout.write(all)); process.stdout.once("drain", more) }; more()',
      {},
      'printed more than 1048576 bytes',
    ],
    ['never ends', 'setInterval(() => {}, 1e6)', { timeoutMs: 200 }, 'did not respond within 200 ms'],
  ])('reports a plugin that %s', async (_, script, change, message) => {
    await expect(runExecPlugin(node(script, change), signal)).rejects.toThrow(
      expect.objectContaining({
        name: 'ExecPluginError',
        message: `credential plugin ${process.execPath} ${message}`,
      }),
    );
  });

  test('kills the plugin and its children on abort', async () => {
    const leaving = new AbortController();
    const started = Promise.withResolvers<number>();
    const script =
      'const c = require("node:child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"], { stdio: "inherit" }); process.stderr.write(String(c.pid)); setInterval(() => {}, 1e6)';
    const run = node(script, { passOn: (chunk) => started.resolve(Number(Buffer.from(chunk).toString())) });
    const running = runExecPlugin(run, leaving.signal);
    const child = await started.promise;
    leaving.abort(new Error('gone'));
    await expect(running).rejects.toThrow('gone');
    await expect.poll(() => isAlive(child)).toBe(false);
  });
});

/** A process that has exited but was not reaped counts as gone. */
async function isAlive(pid: number): Promise<boolean> {
  const { readFile } = await import('node:fs/promises');
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat !== '' && !/\) [ZX] /.test(stat);
}
