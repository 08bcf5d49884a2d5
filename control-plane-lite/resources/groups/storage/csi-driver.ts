/** CSIDrivers. Source: storage/v1. */

import type { CSIDriver } from '#api/gen/storage-v1.ts';
import { validateDriverName, validateDriverSpec } from '#api/schema/validation/csi-driver.ts';
import { createBoundedFieldErrors } from '#api/schema/validation/field-errors.ts';
import type { KindEntry } from '../../contract.ts';
import { ageOf, UNSET } from '../../rows.ts';
import { kindStrategy, validateImmutable } from '../kind.ts';

const FIXED = ['attachRequired', 'fsGroupPolicy', 'podInfoOnMount', 'volumeLifecycleModes'] as const;

function nameErrors(name: string): readonly string[] {
  const errors = createBoundedFieldErrors();
  validateDriverName(errors, name, '');
  return errors.all.map(({ detail }) => detail);
}

export const csiDriver: KindEntry = {
  strategy: kindStrategy<CSIDriver>({
    nameErrors,
    unconditionalUpdate: false,
    countsGeneration: false,
    validate: (errors, { spec }) => validateDriverSpec(errors, spec),
    validateUpdate(errors, { spec }, { spec: old }) {
      for (const member of FIXED) validateImmutable(errors, spec[member], old[member], `spec.${member}`);
    },
    row: (object, { nowMs }) => {
      const { spec, metadata } = object;
      return [
        metadata?.name ?? '',
        spec.attachRequired ?? true,
        spec.podInfoOnMount ?? false,
        spec.storageCapacity ?? false,
        (spec.tokenRequests ?? []).map(({ audience }) => audience).join(',') || UNSET,
        spec.requiresRepublish ?? false,
        (spec.volumeLifecycleModes ?? []).join(',') || '<none>',
        ageOf(object, nowMs),
      ];
    },
  }),
};
