/** Environment of a command: streams, signals, clock and connections. */
import type { Clock } from '#api/kit/clock.ts';
import type { LocalApi } from './client/api-client.ts';
import type { Terminal } from './terminal.ts';

export interface Output {
  /** Resolves once the chunk is written; rejects when the reader has closed the stream. */
  write(chunk: string | Uint8Array): Promise<void>;
  /** Size in characters, for a terminal. */
  readonly terminal?: () => { readonly columns: number; readonly rows: number };
}

/** Standard input. */
export interface Input {
  readonly isTerminal: boolean;
  /** The input as a stream; can be read only once. */
  read(): AsyncIterable<Uint8Array>;
  /** Present only for a terminal. */
  takeTerminal(): Terminal;
  /** Stops reading, so that pending input does not delay the exit of the program. */
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
