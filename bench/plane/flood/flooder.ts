/** Flooding client: a process of its own, at the lowest priority. It gets the CPU time that neither the server nor the
 *  measured client needs, so that the latency of the latter is that of the server and not that of a starved client. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import type { FloodFigures, FloodOptions, FromFlooder, ToFlooder } from './messages.ts';

const PROGRAM = join(import.meta.dirname, 'flooder-process.ts');

export interface Flooder extends AsyncDisposable {
  start(): void;
  /** Resolves once the last response has arrived. */
  stop(): Promise<FloodFigures>;
}

const send = (child: ChildProcess, message: ToFlooder): void => void child.send(message);

/** Returns the next message. @throws Error if the process failed or exited instead */
async function next(child: ChildProcess): Promise<FromFlooder> {
  const gone = new AbortController();
  try {
    const exited = once(child, 'exit', gone).then((): never => {
      throw new Error('the flooding process exited');
    });
    const [message] = (await Promise.race([once(child, 'message', gone), exited])) as [FromFlooder];
    if (message.kind === 'failed') throw new Error(`the flooding process failed: ${message.message}`);
    return message;
  } finally {
    gone.abort();
  }
}

/** Starts the process; resolves once its connections are open. */
export async function openFlooder(options: FloodOptions): Promise<Flooder> {
  const child = fork(PROGRAM, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  async function end(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }
  try {
    setPriority(child.pid ?? 0, constants.priority.PRIORITY_LOW);
    send(child, { kind: 'open', options });
    await next(child);
  } catch (thrown) {
    await end();
    throw thrown;
  }
  return {
    start: () => send(child, { kind: 'start' }),
    async stop() {
      send(child, { kind: 'stop' });
      const message = await next(child);
      if (message.kind !== 'stopped') throw new Error(`unexpected ${message.kind} of the flooding process`);
      return message.figures;
    },
    [Symbol.asyncDispose]: end,
  };
}
