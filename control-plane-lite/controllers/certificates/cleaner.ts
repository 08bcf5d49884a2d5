/** Deletes certificate signing requests that are finished, expired, or pending for too long. Source: request
 *  cleanup, document 2 §3 and §8. */
import { removalTime } from './decide.ts';
import { followRequests, type RequestControllerDeps } from './follow-requests.ts';

/** Runs until the signal is aborted. */
export function runCleaner(deps: RequestControllerDeps, signal: AbortSignal): Promise<void> {
  const { clock, log } = deps;
  return followRequests(
    deps,
    {
      manager: 'certificate-cleaner',
      async work(name, object, { remove }) {
        const leftMs = removalTime(object) - clock.now();
        if (leftMs > 0) return Number.isFinite(leftMs) ? leftMs : undefined;
        await remove(name);
        log.info({ request: name }, 'Certificate signing request deleted');
        return undefined;
      },
      onError: (name, err) =>
        log.warn({ err, request: name }, 'Failed to delete certificate signing request; retrying'),
    },
    signal,
  );
}
