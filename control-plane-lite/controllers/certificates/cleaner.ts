/** Removes requests for certificates that nobody needs any more. Source: document 2, 3 and 8. */
import { removalTime } from './decide.ts';
import { followRequests, type RequestControllerDeps } from './follow-requests.ts';

/** Works until the signal fires. */
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
        log.info({ request: name }, 'Certificate request was removed');
        return undefined;
      },
      onError: (name, err) =>
        log.warn({ err, request: name }, 'Certificate request could not be removed; it is tried again'),
    },
    signal,
  );
}
