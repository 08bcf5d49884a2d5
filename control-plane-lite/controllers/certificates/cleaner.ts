/** Deletes certificate signing requests that are finished, expired, or pending for too long. Source: request
 *  cleanup, document 2 §3 and §8. */
import { type Controller, defineController } from '../skeleton/declaration.ts';
import { removalTime } from './decide.ts';
import { followRequests } from './follow-requests.ts';

export const certificateCleaner: Controller = defineController({
  name: 'csrcleaner',
  identity: 'certificate-cleaner',
  watches: ['certificatesigningrequests'],
  writes: { certificatesigningrequests: { delete: true } },
  workers: 4,
  start(context) {
    const { clock, log } = context;
    return followRequests(context, {
      async work(name, object, { remove }) {
        const leftMs = removalTime(object) - clock.now();
        if (leftMs > 0) return Number.isFinite(leftMs) ? leftMs : undefined;
        await remove(name);
        log.info({ request: name }, 'Certificate signing request deleted');
        return undefined;
      },
      onError: (name, err) =>
        log.warn({ err, request: name }, 'Failed to delete certificate signing request; retrying'),
    });
  },
});
