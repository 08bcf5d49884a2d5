/** Commands to the VM through a serial port that guest/host-commands.sh serves: lines with base64, any number of
 *  commands at once. */
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { type CommandResult, within } from '../command.ts';

export interface Channel {
  /** Resolves when the system accepts commands. */
  readonly ready: Promise<void>;
  /** Runs a shell script.
   *  @throws Error if the VM reports neither a result nor a timeout, because it hangs or has stopped */
  run(script: string, timeoutMs: number): Promise<CommandResult>;
}

/** Additional time after the VM's own time limit. */
const GRACE_MS = 20_000;
/** Exit code of `timeout --signal=KILL`. */
const KILLED = 137;

/** @param ended reports why there will be no more responses */
export function createChannel(output: Writable, input: Readable, ended: Promise<string>): Channel {
  const ready = Promise.withResolvers<void>();
  const waiting = new Map<string, PromiseWithResolvers<CommandResult>>();
  let last = 0;
  let over: Error | undefined;

  createInterface({ input }).on('line', (line) => {
    if (line === 'ready') return ready.resolve();
    const [number = '', code = '', stdout = '', stderr = ''] = line.split(' ');
    waiting.get(number)?.resolve({
      exitCode: Number(code) === KILLED ? -1 : Number(code),
      stdout: Buffer.from(stdout, 'base64').toString(),
      stderr: Buffer.from(stderr, 'base64').toString(),
    });
    waiting.delete(number);
  });
  async function giveUp(): Promise<void> {
    over = new Error(await ended);
    ready.reject(over);
    for (const { reject } of waiting.values()) reject(over);
    waiting.clear();
  }
  void giveUp();
  // It may have no listener when a machine is stopped early.
  ready.promise.catch(() => undefined);

  return {
    ready: ready.promise,
    async run(script, timeoutMs) {
      if (over !== undefined) throw over;
      last += 1;
      const number = String(last);
      const response = Promise.withResolvers<CommandResult>();
      waiting.set(number, response);
      output.write(`${number} ${timeoutMs / 1000} ${Buffer.from(script).toString('base64')}\n`);
      return within(response.promise, timeoutMs + GRACE_MS, `no response from the VM to: ${script}`);
    },
  };
}

/** Returns a shell command line of these arguments. */
export function quote(argv: readonly string[]): string {
  return argv.map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(' ');
}
