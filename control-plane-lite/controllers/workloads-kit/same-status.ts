/** Comparison of a computed status with the stored one, which is in canonical form. Pure. */
import { isDeepStrictEqual } from 'node:util';
import { completed } from '#api/schema/complete.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';

/** The members of these have the same names in all vocabularies. */
export type StatusType =
  | 'core/v1.ResourceQuotaStatus'
  | 'apps/v1.DaemonSetStatus'
  | 'apps/v1.DeploymentStatus'
  | 'apps/v1.ReplicaSetStatus'
  | 'apps/v1.StatefulSetStatus'
  | 'autoscaling/v2.HorizontalPodAutoscalerStatus'
  | 'batch/v1.CronJobStatus'
  | 'batch/v1.JobStatus'
  | 'policy/v1.PodDisruptionBudgetStatus';

/** Otherwise a controller would write the same status again and again, and wait for a change that never comes. */
export function sameStatus(type: StatusType, computed: object, stored: object = {}): boolean {
  if (isDeepStrictEqual(computed, stored)) return true;
  const { plat } = VOCABULARIES;
  return isDeepStrictEqual(completed(type, computed, plat), completed(type, stored, plat));
}
