/** Input and result of an exec or attach session, for either transport. */

export interface TerminalSize {
  readonly width: number;
  readonly height: number;
}

/** Receives output; a returned promise applies backpressure until it settles. */
export type OutputSink = (chunk: Uint8Array) => void | Promise<void>;

/** The given streams must match the flags of the Exec or Attach call that returned the URL:
 *  the server waits for exactly these. */
export interface RemoteCommandOptions {
  /** Input; its end closes standard input of the command while output continues. */
  readonly stdin?: AsyncIterable<Uint8Array> | undefined;
  readonly stdout?: OutputSink | undefined;
  /** Omitted with a terminal, which has only one output. */
  readonly stderr?: OutputSink | undefined;
  readonly tty: boolean;
  /** Sizes of the terminal as they change; only with `tty`. */
  readonly resize?: AsyncIterable<TerminalSize> | undefined;
  /** Aborts the session; the promise rejects with its reason. */
  readonly signal: AbortSignal;
  /** Leaves the session without affecting the command: the promise resolves as detached. For attach. */
  readonly detach?: AbortSignal | undefined;
}

export interface RemoteCommandResult {
  /** 0 to 255; 0 when detached. */
  readonly exitCode: number;
  readonly detached: boolean;
}
