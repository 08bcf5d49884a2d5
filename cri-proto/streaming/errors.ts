/** Errors of streaming sessions with a runtime. */

/** The streaming server of the runtime rejected the session, or closed it. */
export class StreamingError extends Error {
  override readonly name = 'StreamingError';
}

/** The command could not be run, or its result is unknown; the message is that of the runtime. */
export class RemoteCommandError extends Error {
  override readonly name = 'RemoteCommandError';
  /** Reason in the status of the runtime, such as `InternalError`. */
  readonly reason: string;
  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}
