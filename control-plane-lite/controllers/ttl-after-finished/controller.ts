/** Deletes finished Jobs and, before them, their pods once the Job's TTL has expired. */

import type { Job } from '#api/gen/batch-v1.ts';
import { createWorkQueue } from '#api/kit/work-queue.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { typed } from '../../resources/view.ts';
import { controllerCaller } from '../../verbs/controller-caller.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';
import { findResource, type WorkloadDeps } from '../workloads-kit/deps.ts';
import { expiryOf } from './decide.ts';

/** Runs until the signal is aborted. */
export async function runTtlAfterFinished(deps: WorkloadDeps, signal: AbortSignal): Promise<void> {
  const { cache, clock, verbs, log } = deps;
  const resource = findResource(deps, 'batch/v1', 'jobs');
  if (resource === undefined) return;
  const caller = controllerCaller('ttl-after-finished-controller', signal);
  const jobs = cache.resource(resource.storage);

  /** Remaining TTL of the Job, in ms; on expiry the latest state is read, because the TTL may have been
   *  raised. */
  const visit = async (key: string): Promise<number | undefined> => {
    const seen = jobs.get(key);
    const seenExpiry = seen && expiryOf(typed<Job>(seen.object()));
    if (seen === undefined || seenExpiry === undefined) return undefined;
    if (seenExpiry > clock.now()) return seenExpiry - clock.now();
    const ref = { resource, namespace: seen.namespace, name: seen.name };
    const live = (await verbs.get(ref)).object();
    const expiry = expiryOf(typed<Job>(live));
    if (expiry === undefined || live.metadata.uid !== seen.object().metadata.uid) return undefined;
    if (expiry > clock.now()) return expiry - clock.now();
    const { uid = '', resourceVersion = '' } = live.metadata;
    log.info({ job: key }, 'Deleting finished job: TTL expired');
    const preconditions = { uid, resourceVersion };
    await verbs.delete({ ref, dryRun: false, propagationPolicy: 'Foreground', preconditions, caller });
    return undefined;
  };

  const queue = createWorkQueue({
    clock,
    async work(key) {
      let again: number | undefined;
      await unlessGone(async () => {
        again = await visit(key);
      });
      return again;
    },
    onError(key, err) {
      // A concurrent change queues the Job again by itself.
      const expected = err instanceof StatusError && err.reason === 'Conflict';
      log[expected ? 'debug' : 'warn']({ err, job: key }, 'Failed to delete finished job; retrying');
    },
  });
  const following = jobs.follow(({ type, current }) => {
    if (type !== 'DELETED' && expiryOf(typed<Job>(current.object())) !== undefined) queue.add(current.key);
  });
  await queue.run(signal);
  following.close();
}
