/** What a caller gives to an exec or attach session and what it gets back, over either transport. */

export interface TerminalSize {
  readonly width: number;
  readonly height: number;
}

/** Takes output; a promise holds the session back until it settles. */
export type OutputSink = (chunk: Uint8Array) => void | Promise<void>;

/** Which streams are given must agree with the flags of the Exec or Attach call that gave the URL:
 *  the server waits for exactly those. */
export interface RemoteCommandOptions {
  /** Input; its end closes the command's standard input while output goes on. */
  readonly stdin?: AsyncIterable<Uint8Array> | undefined;
  readonly stdout?: OutputSink | undefined;
  /** Left out with a terminal, which has one output. */
  readonly stderr?: OutputSink | undefined;
  readonly tty: boolean;
  /** Sizes of the terminal as they change; only with `tty`. */
  readonly resize?: AsyncIterable<TerminalSize> | undefined;
  /** Breaks the session off; the promise rejects with its reason. */
  readonly signal: AbortSignal;
  /** Leaves the session without touching the command: the promise resolves as detached. For attach. */
  readonly detach?: AbortSignal | undefined;
}

export interface RemoteCommandResult {
  /** 0 to 255; 0 when detached. */
  readonly exitCode: number;
  readonly detached: boolean;
}
