/** Default timeouts of CRI calls. */

/** Base without `--runtime-request-timeout`, in ms. */
export const DEFAULT_REQUEST_TIMEOUT_MS = 120_000;

/** Returns the timeout of a call in ms; 0 means none. Calls with a timeout in their request get the base
 *  added to it, for the cleanup of the runtime. `baseMs` is the configured request timeout. */
export function defaultTimeoutMs(rpc: string, request: object, baseMs: number): number {
  switch (rpc) {
    // The duration of a pull depends on the registry; the puller monitors its progress.
    case 'PullImage':
    case 'GetContainerEvents':
      return 0;
    // The runtime may pull the sandbox image.
    case 'RunPodSandbox':
      return 2 * baseMs;
    case 'StopContainer':
    case 'CheckpointContainer':
      return baseMs + requestedMs(request);
    // CRI: a command without a timeout may run indefinitely.
    case 'ExecSync': {
      const requested = requestedMs(request);
      return requested === 0 ? 0 : baseMs + requested;
    }
    default:
      return baseMs;
  }
}

function requestedMs(request: object): number {
  const seconds = 'timeout' in request ? request.timeout : undefined;
  if (typeof seconds !== 'bigint' && typeof seconds !== 'number') return 0;
  return Math.max(Number(seconds), 0) * 1000;
}
