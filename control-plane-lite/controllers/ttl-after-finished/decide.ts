/** When a finished Job has outlived its time. Pure. Source: batch/v1 Job (`ttlSecondsAfterFinished`); upstream's
 *  controller, release 1.24. */
import { parseTime } from '#api/meta/time.ts';
import type { Job } from '#api/schema/gen/batch-v1.ts';

/** When the Job is to be deleted, in Unix ms; `undefined`: not now, nor by time alone. */
export function expiryOf({ metadata = {}, spec, status }: Job): number | undefined {
  const ttlSeconds = spec?.ttlSecondsAfterFinished;
  if (ttlSeconds === undefined || metadata.deletionTimestamp !== undefined) return undefined;
  const end = status?.conditions?.find(
    ({ type, status: value }) => (type === 'Complete' || type === 'Failed') && value === 'True',
  );
  if (end?.lastTransitionTime === undefined) return undefined;
  return parseTime(end.lastTransitionTime) + ttlSeconds * 1000;
}
