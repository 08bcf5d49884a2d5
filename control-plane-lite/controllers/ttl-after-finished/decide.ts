/** Expiry of a finished Job. Pure. Source: batch/v1 Job (`ttlSecondsAfterFinished`); upstream's controller,
 *  release 1.24. */

import type { Job } from '#api/gen/batch-v1.ts';
import { parseTime } from '#api/meta/time.ts';

/** Deletion time of the Job, in Unix ms; `undefined`: not by time alone. */
export function expiryOf({ metadata = {}, spec, status }: Job): number | undefined {
  const ttlSeconds = spec?.ttlSecondsAfterFinished;
  if (ttlSeconds === undefined || metadata.deletionTimestamp !== undefined) return undefined;
  const end = status?.conditions?.find(
    ({ type, status: value }) => (type === 'Complete' || type === 'Failed') && value === 'True',
  );
  if (end?.lastTransitionTime === undefined) return undefined;
  return parseTime(end.lastTransitionTime) + ttlSeconds * 1000;
}
