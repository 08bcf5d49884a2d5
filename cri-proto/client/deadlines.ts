/** How long each CRI call may take unless the caller says otherwise. */

/** The base when no `--runtime-request-timeout` is given, in ms. */
export const DEFAULT_REQUEST_TIMEOUT_MS = 120_000;

/** Time limit of a call in ms; 0 means none. Calls that carry a timeout of their own get the base on top
 *  of it, for the runtime's cleaning up. `baseMs` is the configured request timeout. */
export function defaultTimeoutMs(rpc: string, request: object, baseMs: number): number {
  switch (rpc) {
    // A pull takes as long as its registry does; the puller watches its progress.
    case 'PullImage':
    case 'GetContainerEvents':
      return 0;
    // It may pull the sandbox image.
    case 'RunPodSandbox':
      return 2 * baseMs;
    case 'StopContainer':
    case 'CheckpointContainer':
      return baseMs + requestedMs(request);
    // CRI: a command without a timeout may run for ever.
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
