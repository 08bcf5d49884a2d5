/** Starts and stops the KMS plugin of the tests. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';

export interface KmsPlugin extends AsyncDisposable {
  /** Ends the process at once; its socket disappears. */
  kill(): Promise<void>;
  /** Stops or continues the process: its socket accepts connections, and nothing responds. */
  pause(paused: boolean): void;
}

/** Resolves once it listens on the socket. */
export async function startKmsPlugin(socket: string, keyId = 'key-1'): Promise<KmsPlugin> {
  const program = join(import.meta.dirname, 'kms-plugin.fixture.ts');
  const child = spawn(process.execPath, [program, socket, keyId], { stdio: ['ignore', 'pipe', 'inherit'] });
  const line = await new Promise<Buffer>((resolve) => child.stdout.once('data', resolve));
  if (String(line).trim() !== 'ready') throw new Error(`the plugin did not start: ${String(line)}`);
  async function kill(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGCONT');
    child.kill('SIGKILL');
    await exited;
    await rm(socket, { force: true });
  }
  return {
    kill,
    pause: (paused) => void child.kill(paused ? 'SIGSTOP' : 'SIGCONT'),
    [Symbol.asyncDispose]: kill,
  };
}
