/** Deletes finished Jobs and, before them, their pods once the Job's TTL has expired. */

import type { Job } from '#api/gen/batch-v1.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { typed } from '../../resources/view.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';
import { type Controller, type ControllerContext, defineController } from '../skeleton/declaration.ts';
import { refOf } from '../workloads-kit/controller-base.ts';
import { expiryOf } from './decide.ts';

/** Remaining TTL of the Job, in ms; on expiry the latest state is read, because the TTL may have been
 *  raised. */
async function reconcile(context: ControllerContext, key: string): Promise<number | undefined> {
  const { clock, client, log } = context;
  const seen = context.cacheOf('jobs').get(key);
  const seenExpiry = seen && expiryOf(typed<Job>(seen.object()));
  if (seen === undefined || seenExpiry === undefined) return undefined;
  if (seenExpiry > clock.now()) return seenExpiry - clock.now();
  const ref = refOf(context.resourceOf('jobs'), seen);
  const live = (await client.verbs.get(ref)).object();
  const expiry = expiryOf(typed<Job>(live));
  if (expiry === undefined || live.metadata.uid !== seen.object().metadata.uid) return undefined;
  if (expiry > clock.now()) return expiry - clock.now();
  const { uid = '', resourceVersion = '' } = live.metadata;
  log.info({ job: key }, 'Deleting finished job: TTL expired');
  const preconditions = { uid, resourceVersion };
  const request = { dryRun: false, propagationPolicy: 'Foreground', preconditions } as const;
  await client.verbs.delete({ ref, ...request, caller: client.caller });
  return undefined;
}

export const ttlAfterFinishedController: Controller = defineController({
  name: 'ttl-after-finished',
  identity: 'ttl-after-finished-controller',
  watches: ['jobs'],
  writes: { jobs: { delete: true } },
  workers: 4,
  start(context) {
    const { log, queue } = context;
    const jobs = context.cacheOf('jobs').follow(({ type, current }) => {
      if (type !== 'DELETED' && expiryOf(typed<Job>(current.object())) !== undefined) queue.add(current.key);
    });
    return {
      async reconcile(key) {
        let again: number | undefined;
        await unlessGone(async () => {
          again = await reconcile(context, key);
        });
        return again;
      },
      follows: [jobs],
      onError(key, err) {
        // A concurrent change queues the Job again by itself.
        const expected = err instanceof StatusError && err.reason === 'Conflict';
        log[expected ? 'debug' : 'warn']({ err, job: key }, 'Failed to delete finished job; retrying');
      },
    };
  },
});
