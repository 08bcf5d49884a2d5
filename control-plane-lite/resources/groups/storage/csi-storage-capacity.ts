/** CSIStorageCapacities, stored in version 1; version 1beta1 has the same fields. Source: storage/v1,
 *  v1beta1. */

import type { CSIStorageCapacity } from '#api/gen/storage-v1.ts';
import { dns1123SubdomainErrors } from '#api/meta/names.ts';
import { parseQuantity } from '#api/meta/quantity.ts';
import { validateLabelSelector } from '#api/schema/validation/label-selector.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { ApiObject, Conversion, KindEntry } from '../../contract.ts';
import { kindStrategy, validateImmutable } from '../kind.ts';

export const csiStorageCapacity: KindEntry = {
  strategy: kindStrategy<CSIStorageCapacity>({
    unconditionalUpdate: false,
    validate(errors, object) {
      const { storageClassName, nodeTopology } = object;
      errors.invalidAll('storageClassName', storageClassName, dns1123SubdomainErrors(storageClassName));
      if (nodeTopology !== undefined) validateLabelSelector(errors, nodeTopology, 'nodeTopology');
      for (const member of ['capacity', 'maximumVolumeSize'] as const) {
        const amount = object[member];
        if (amount !== undefined && parseQuantity(amount).nanos < 0n) {
          errors.invalid(member, amount, 'must be greater than or equal to 0');
        }
      }
    },
    validateUpdate(errors, object, old) {
      validateImmutable(errors, object.nodeTopology, old.nodeTopology, 'nodeTopology');
      validateImmutable(errors, object.storageClassName, old.storageClassName, 'storageClassName');
    },
    row: ({ metadata, storageClassName, capacity }) => [
      metadata?.name ?? '',
      storageClassName,
      capacity ?? '<unset>',
    ],
  }),
};

export function createCapacityConversion({ apiGroupDomain }: Vocabulary): Conversion {
  const rename =
    (version: string) =>
    (draft: ApiObject): ApiObject => {
      draft.apiVersion = `storage.${apiGroupDomain}/${version}`;
      return draft;
    };
  return { toStorage: rename('v1'), fromStorage: rename('v1beta1') };
}

export const csiStorageCapacityV1beta1 = (vocabulary: Vocabulary): KindEntry => ({
  ...csiStorageCapacity,
  storedAs: {
    group: `storage.${VOCABULARIES.plat.apiGroupDomain}`,
    version: 'v1',
    conversion: createCapacityConversion(vocabulary),
  },
});
