/** Converts abort reasons to errors. */

/** Returns the reason of a fired signal as an Error; wraps any other reason with its text. */
export function abortReason(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  return reason instanceof Error ? reason : new Error(`aborted: ${String(reason)}`);
}
