/** ConfigMaps. Source: ConfigMaps, document 3 §2.1. */

import type { ConfigMap } from '#api/gen/core-v1.ts';
import { validateConfigMapContent } from '#api/schema/validation/config.ts';
import type { KindEntry } from '../contract.ts';
import { ageOf } from '../rows.ts';
import { typed } from '../view.ts';
import { frozenErrors } from './immutable-data.ts';

export const configMapKind: KindEntry = {
  strategy: {
    validate: (object) => validateConfigMapContent(typed<ConfigMap>(object)),
    validateUpdate: (object, old) => frozenErrors(object, old, ['data', 'binaryData']).all,
    row: (object, { nowMs }) => {
      const { data = {}, binaryData = {} } = typed<ConfigMap>(object);
      const count = Object.keys(data).length + Object.keys(binaryData).length;
      return [object.metadata.name ?? '', count, ageOf(object, nowMs)];
    },
  },
};
