/** Maps etcd errors to store errors. Source: api/v3rpc/rpctypes/error.go of etcd. */
import { type ServiceError, status } from '@grpc/grpc-js';
import { StoreError, type StoreErrorReason } from '../contract.ts';

export function isServiceError(thrown: unknown): thrown is ServiceError {
  return (
    thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'number' && 'details' in thrown
  );
}

/** The call may have been lost in transit or not been performed: another server may succeed. */
export function isAway(thrown: unknown): boolean {
  if (!isServiceError(thrown)) return false;
  return thrown.code === status.UNAVAILABLE || thrown.code === status.DEADLINE_EXCEEDED;
}

/** The cluster rejects transactions of that size, and has not performed it. */
export function isTooMuchAtOnce(thrown: unknown): boolean {
  if (!(thrown instanceof StoreError)) return false;
  if (thrown.reason === 'tooLarge') return true;
  return isServiceError(thrown.cause) && thrown.cause.details.includes('too many operations');
}

export function toStoreError(thrown: unknown, action: string): StoreError {
  if (thrown instanceof StoreError) return thrown;
  if (!isServiceError(thrown)) {
    return new StoreError('unavailable', `${action}: etcd returned an unusable response`, { cause: thrown });
  }
  return new StoreError(reasonOf(thrown), `${action}: etcd returned: ${thrown.details}`, { cause: thrown });
}

function reasonOf({ code, details }: ServiceError): StoreErrorReason {
  if (code === status.OUT_OF_RANGE) return details.includes('compacted') ? 'compacted' : 'future';
  if (code === status.RESOURCE_EXHAUSTED && details.includes('space exceeded')) return 'noSpace';
  const isTooLarge = details.includes('request is too large') || details.includes('larger than max');
  return isTooLarge ? 'tooLarge' : 'unavailable';
}
