/** What an aborted operation rejects with. */

/** The reason of a signal that fired, as an Error; anything else is wrapped with its text. */
export function abortReason(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  return reason instanceof Error ? reason : new Error(`aborted: ${String(reason)}`);
}
