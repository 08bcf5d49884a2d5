/** Leases: holder and expiry. Source: coordination/v1. */
import type { Lease } from '#api/gen/coordination-v1.ts';
import type { KindEntry } from '../../contract.ts';
import { ageOf } from '../../rows.ts';
import { kindStrategy } from '../kind.ts';

export const lease: KindEntry = {
  strategy: kindStrategy<Lease>({
    createOnUpdate: true,
    unconditionalUpdate: false,
    countsGeneration: false,
    validate(errors, { spec = {} }) {
      errors.positive('spec.leaseDurationSeconds', spec.leaseDurationSeconds);
      errors.nonNegative('spec.leaseTransitions', spec.leaseTransitions);
    },
    row: (object, { nowMs }) => [
      object.metadata?.name ?? '',
      object.spec?.holderIdentity ?? '',
      ageOf(object, nowMs),
    ],
  }),
};
