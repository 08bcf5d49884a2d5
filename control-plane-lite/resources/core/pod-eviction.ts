/** The `eviction` subresource: deletion of a pod subject to disruption budgets. This file parses an Eviction
 *  and decides whether budgets apply; budgets are checked and the pod is deleted elsewhere. Pure. Source:
 *  upstream's eviction subresource, release 1.24. */

import type { Pod } from '#api/gen/core-v1.ts';
import type { Eviction } from '#api/gen/policy-v1.ts';
import type { Int64 } from '#api/kit/int64.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ApiObject } from '../contract.ts';
import { typed } from '../view.ts';

/** Deletion that an Eviction requests. */
export interface EvictionRequest {
  readonly dryRun: boolean;
  readonly gracePeriodSeconds?: Int64;
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
