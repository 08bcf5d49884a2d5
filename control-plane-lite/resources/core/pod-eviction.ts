/** The `eviction` part: deletion of a pod that asks the disruption budgets first. What an Eviction says, and whether
 *  budgets have a say, is decided here; budgets are asked and the pod is deleted elsewhere. Pure.
 *  Source: upstream's eviction subresource, release 1.24. */
import { StatusError } from '#api/meta/status-error.ts';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import type { Eviction } from '#api/schema/gen/policy-v1.ts';
import type { ApiObject } from '../contract.ts';
import { typed } from '../view.ts';

/** The deletion that an Eviction asks for. */
export interface EvictionRequest {
  readonly dryRun: boolean;
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly propagationPolicy?: string;
}

/** @throws StatusError BadRequest if the Eviction is of another pod */
export function readEviction(object: ApiObject, podName: string): EvictionRequest {
  const { metadata, deleteOptions = {} } = typed<Eviction>(object);
  if ((metadata?.name ?? '') !== podName) {
    throw new StatusError('BadRequest', 'name in URL does not match name in Eviction object');
  }
  const { gracePeriodSeconds, preconditions, propagationPolicy, dryRun = [] } = deleteOptions;
  return {
    dryRun: dryRun.includes('All'),
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(preconditions === undefined ? {} : { preconditions }),
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
  };
}

/** Whether the eviction of this pod disrupts anything, so that budgets must be asked: not if it doesn't run yet or
 *  any more, or is being deleted already. */
export function disrupts(object: ApiObject): boolean {
  const { status, metadata } = typed<Pod>(object);
  if (metadata?.deletionTimestamp !== undefined) return false;
  return status?.phase !== 'Succeeded' && status?.phase !== 'Failed' && status?.phase !== 'Pending';
}
