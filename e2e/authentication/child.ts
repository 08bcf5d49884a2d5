/** Child processes of the tests: programs that read one line of JSON and print a line once they listen. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface Child extends AsyncDisposable {
  /** Kills the process and waits until it has ended. */
  stop(): Promise<void>;
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('the process has no output');
  const lines = createInterface({ input: child.stdout });
  const ended = once(child, 'close').then((): never => {
    throw new Error('the process ended before it listened');
  });
  const [line] = (await Promise.race([once(lines, 'line'), ended])) as [string];
  return line;
}

/** Starts a program of this folder. Resolves once it listens. */
export async function startChild(program: string, input: object): Promise<Child> {
  const child = spawn(process.execPath, [join(import.meta.dirname, program)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(`${JSON.stringify(input)}\n`);
  await firstLine(child);
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'close');
  };
  return { stop, [Symbol.asyncDispose]: stop };
}
