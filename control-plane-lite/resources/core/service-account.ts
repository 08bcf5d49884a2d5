/** ServiceAccounts. Source: upstream's service account strategy, release 1.24. */
import type { ServiceAccount } from '#api/gen/core-v1.ts';
import type { ApiObject, KindEntry } from '../contract.ts';
import { ageOf } from '../rows.ts';
import { typed } from '../view.ts';

/** Of a secret only its name counts: it is one of the same namespace. */
function keepNamesOnly(draft: ApiObject): void {
  const { secrets } = typed<ServiceAccount>(draft);
  if (secrets === undefined) return;
  draft['secrets'] = secrets.map(({ name }) => (name === undefined ? {} : { name }));
}

export const serviceAccountKind: KindEntry = {
  strategy: {
    unconditionalUpdate: false,
    prepareForCreate: keepNamesOnly,
    prepareForUpdate: keepNamesOnly,
    row: (object, { nowMs }) => [
      object.metadata.name ?? '',
      typed<ServiceAccount>(object).secrets?.length ?? 0,
      ageOf(object, nowMs),
    ],
  },
};
