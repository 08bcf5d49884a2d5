/** Starts and stops test device plugins as processes. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import type { TestPluginOptions } from './plugin-options.fixture.ts';

export interface TestPlugin extends AsyncDisposable {
  /** Names of the calls so far, including those of an earlier process. */
  calls(): Promise<readonly string[]>;
  /** Replaces its devices. */
  report(devices: string): void;
  kill(): Promise<void>;
}

async function spawnPlugin(
  options: TestPluginOptions,
): Promise<ChildProcessByStdio<Writable, Readable, null>> {
  const program = join(import.meta.dirname, 'plugin.fixture.ts');
  const child = spawn(process.execPath, [program, JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const early = once(child, 'exit').then(() => {
    throw new Error('the plugin exited before it was ready');
  });
  await Promise.race([once(child.stdout, 'data'), early]);
  early.catch(() => undefined);
  return child;
}

/** Resolves after its registration. */
export async function startTestPlugin(options: TestPluginOptions): Promise<TestPlugin> {
  const child = await spawnPlugin(options);
  async function kill(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  return {
    async calls() {
      const text = await readFile(options.callsFile, 'utf8').catch(() => '');
      return [...text.matchAll(/"method":"(\w+)"/g)].map((match) => match[1] ?? '');
    },
    report: (devices) => void child.stdin.write(`${devices}\n`),
    kill,
    [Symbol.asyncDispose]: kill,
  };
}
