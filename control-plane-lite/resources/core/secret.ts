/** Secrets: text that clients may write is kept as data, and a secret's type stays. Source: document 3, 2.2. */
import { Buffer } from 'node:buffer';
import type { Secret } from '#api/schema/gen/core-v1.ts';
import { validateSecretContent } from '#api/schema/validation/config.ts';
import { immutableField } from '../content-diff.ts';
import type { ApiObject, KindEntry } from '../contract.ts';
import { ageOf } from '../rows.ts';
import { isMembers, typed } from '../view.ts';
import { frozenFaults } from './immutable-data.ts';

/** `stringData` overrides `data` and is never stored. */
function mergeStringData(draft: ApiObject): void {
  const text = draft['stringData'];
  if (text === undefined) return;
  delete draft['stringData'];
  if (!isMembers(text) || Object.keys(text).length === 0) return;
  const before = draft['data'];
  const encoded = Object.entries(text).map(
    ([key, value]) => [key, Buffer.from(String(value)).toString('base64')] as const,
  );
  // `fromEntries` defines members, so that no key can reach a prototype.
  draft['data'] = Object.fromEntries([...Object.entries(isMembers(before) ? before : {}), ...encoded]);
}

const typeOf = (object: ApiObject): string => typed<Secret>(object).type ?? '';

export const secretKind: KindEntry = {
  strategy: {
    normalize: mergeStringData,
    validate: (object, { vocabulary }) => validateSecretContent(typed<Secret>(object), vocabulary),
    validateUpdate: (object, old) => {
      const faults = frozenFaults(object, old, ['data']);
      immutableField(faults, typeOf(object), typeOf(old), 'type');
      return faults.errors;
    },
    selectableFields: { type: typeOf },
    row: (object, { nowMs }) => [
      object.metadata.name ?? '',
      typeOf(object),
      Object.keys(typed<Secret>(object).data ?? {}).length,
      ageOf(object, nowMs),
    ],
  },
};
