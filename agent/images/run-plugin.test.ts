import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';

/** Uses up every file descriptor of the process, then runs a plugin. */
const WITHOUT_DESCRIPTORS = `
  import { openSync } from 'node:fs';
  const { runPlugin } = await import(process.argv[1]);
  const signal = new AbortController().signal;
  const run = { path: '/bin/true', args: [], env: {}, input: '', timeoutMs: 60000, signal };
  try { for (;;) openSync('/dev/null'); } catch { /* none is left */ }
  try { await runPlugin(run); } catch (error) { process.stdout.write(error.name + ': ' + error.message); }
`;

describe('runPlugin', () => {
  test('survives a lack of file descriptors', async () => {
    const module = new URL('run-plugin.ts', import.meta.url).href;
    const limited = 'ulimit -n 64; exec "$@"';
    const node = [process.execPath, '--input-type=module', '--eval', WITHOUT_DESCRIPTORS, module];
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', limited, 'sh', ...node]);
    expect(stdout).toBe('PluginError: could not be run: EMFILE');
  });
});
