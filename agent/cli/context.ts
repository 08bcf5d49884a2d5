/** What a command is handed of the world outside. */
import type { Clock } from '#api/kit/clock.ts';
import type { LocalApi } from './api-client.ts';
import type { Terminal } from './terminal.ts';

export interface Output {
  /** Resolves when the chunk is on its way; rejects when nobody reads any more. */
  write(chunk: string | Uint8Array): Promise<void>;
  /** Its size in characters, if it is a terminal. */
  readonly terminal?: () => { readonly columns: number; readonly rows: number };
}

/** Standard input. */
export interface Input {
  readonly isTerminal: boolean;
  /** Its bytes as they come; to be read once. */
  read(): AsyncIterable<Uint8Array>;
  /** Only when it is a terminal. */
  takeTerminal(): Terminal;
  /** Stops reading, so that waiting input does not keep the program from ending. */
  close(): void;
}

export interface CliContext {
  readonly out: Output;
  readonly err: Output;
  readonly input: Input;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Fires on SIGINT, SIGTERM and SIGHUP with an InterruptedError. */
  readonly signal: AbortSignal;
  /** Absolute path. */
  readonly cwd: string;
  readonly connect: (socketPath: string) => LocalApi;
}
