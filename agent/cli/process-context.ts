/** Creates a command context from the streams, signals and environment of the process. */
import { constants } from 'node:os';
import { systemClock } from '#api/kit/clock.ts';
import { createLocalApi } from './client/api-client.ts';
import type { CliContext, Input, Output } from './context.ts';
import { InterruptedError } from './errors.ts';
import { takeTerminal } from './terminal.ts';

export function createProcessContext(): CliContext {
  return {
    out: createOutput(process.stdout),
    err: createOutput(process.stderr),
    input: createInput(),
    env: process.env,
    clock: systemClock,
    signal: interruptSignal(),
    cwd: process.cwd(),
    connect: createLocalApi,
  };
}

function createOutput(stream: NodeJS.WriteStream): Output {
  // The writer receives the error of a closed reader; without this listener it would end the process.
  stream.on('error', () => undefined);
  return {
    ...(stream.isTTY ? { terminal: () => ({ columns: stream.columns, rows: stream.rows }) } : {}),
    write: (chunk) =>
      new Promise((resolve, reject) => {
        stream.write(chunk, (error) => (error === null || error === undefined ? resolve() : reject(error)));
      }),
  };
}

/** Standard input is accessed only when needed: even inspecting it may change its mode. */
function createInput(): Input {
  return {
    get isTerminal() {
      return process.stdin.isTTY;
    },
    read: () => inputBytes(),
    takeTerminal: () => takeTerminal(process.stdin, process.stdout),
    close: () => void process.stdin.destroy(),
  };
}

async function* inputBytes(): AsyncGenerator<Uint8Array> {
  for await (const chunk of process.stdin) {
    if (chunk instanceof Uint8Array) yield chunk;
  }
}

/** The first signal interrupts the command gracefully; a second one terminates the process. */
function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(name, () => controller.abort(new InterruptedError(128 + constants.signals[name])));
  }
  return controller.signal;
}
