/** Deletes Jobs, and their pods before them, some time after they finished. */
import { createWorkQueue } from '#api/kit/work-queue.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { Job } from '#api/schema/gen/batch-v1.ts';
import { typed } from '../../resources/view.ts';
import { controllerCaller } from '../caller.ts';
import { unlessGone } from '../unless-gone.ts';
import { findResource, type WorkloadDeps } from '../workloads-kit/deps.ts';
import { expiryOf } from './decide.ts';

/** Works until the signal fires. */
export async function runTtlAfterFinished(deps: WorkloadDeps, signal: AbortSignal): Promise<void> {
  const { cache, clock, verbs, log } = deps;
  const resource = findResource(deps, 'batch/v1', 'jobs');
  if (resource === undefined) return;
  const caller = controllerCaller('ttl-after-finished-controller', signal);
  const jobs = cache.resource(resource.storage);

  /** Time left to the Job, in ms; after it the newest state is asked, for the time to live may have been raised. */
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
    log.info({ job: key }, 'Job is removed, its time after its end is over');
    const preconditions = { uid, resourceVersion };
    await verbs.delete(ref, { dryRun: false, propagationPolicy: 'Foreground', preconditions }, caller);
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
      // Somebody changed it a moment ago: the change makes it due by itself.
      const expected = err instanceof StatusError && err.reason === 'Conflict';
      log[expected ? 'debug' : 'warn']({ err, job: key }, 'Job could not be removed; it is tried again');
    },
  });
  const following = jobs.follow(({ type, current }) => {
    if (type !== 'DELETED' && expiryOf(typed<Job>(current.object())) !== undefined) queue.add(current.key);
  });
  await queue.run(signal);
  following.close();
}
