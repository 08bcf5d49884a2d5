/** Failures of streaming sessions with a runtime. */

/** The runtime's streaming server did not take the session, or broke it off. */
export class StreamingError extends Error {
  override readonly name = 'StreamingError';
}

/** The command could not be run, or its end is unknown; the message is the runtime's. */
export class RemoteCommandError extends Error {
  override readonly name = 'RemoteCommandError';
  /** Reason in the runtime's status, such as `InternalError`. */
  readonly reason: string;
  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}
