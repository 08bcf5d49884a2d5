/** Serializes a store's failure for another thread. */
import { StoreError, type StoreErrorReason } from './contract.ts';

export interface PlainStoreError {
  readonly reason: StoreErrorReason;
  readonly message: string;
  readonly revision: number | undefined;
  /** Message of the cause. */
  readonly cause: string | undefined;
}

/** A store throws StoreErrors; anything else is a bug of its own, and makes it `unavailable`. */
export function toPlainError(thrown: unknown): PlainStoreError {
  if (!(thrown instanceof StoreError)) {
    return { reason: 'unavailable', message: String(thrown), revision: undefined, cause: undefined };
  }
  const { reason, message, revision, cause } = thrown;
  return { reason, message, revision, cause: cause instanceof Error ? String(cause) : undefined };
}

export function fromPlainError({ reason, message, revision, cause }: PlainStoreError): StoreError {
  return new StoreError(reason, message, {
    ...(revision === undefined ? {} : { revision }),
    ...(cause === undefined ? {} : { cause: new Error(cause) }),
  });
}
