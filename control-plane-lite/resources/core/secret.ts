/** Secrets: `stringData` is stored as data, and the type is immutable. Source: Secrets, document 3 §2.2. */

import { Buffer } from 'node:buffer';
import { setMember } from '#api/codec/set-member.ts';
import type { Secret } from '#api/gen/core-v1.ts';
import { isMutableObject } from '#api/kit/object.ts';
import { validateSecretContent } from '#api/schema/validation/config.ts';
import { immutableField } from '../content-diff.ts';
import type { ApiObject, KindEntry } from '../contract.ts';
import { ageOf } from '../rows.ts';
import { typed } from '../view.ts';
import { frozenErrors } from './immutable-data.ts';

/** `stringData` overrides `data` and is never stored. */
function mergeStringData(draft: ApiObject): void {
  const text = draft['stringData'];
  if (text === undefined) return;
  delete draft['stringData'];
  if (!isMutableObject(text)) return;
  const before = draft['data'];
  if (isMutableObject(before)) {
    const data: Record<string, unknown> = {};
    for (const key in before) setMember(data, key, before[key]);
    for (const key in text) setMember(data, key, base64Of(String(text[key])));
    draft['data'] = data;
    return;
  }
  // The same object: another one with hundreds of thousands of members takes as long to build as all else.
  let isEmpty = true;
  for (const key in text) {
    isEmpty = false;
    if (text[key] !== '') setMember(text, key, base64Of(String(text[key])));
  }
  if (!isEmpty) draft['data'] = text;
}

const base64Of = (text: string): string => (text === '' ? '' : Buffer.from(text).toString('base64'));

const typeOf = (object: ApiObject): string => typed<Secret>(object).type ?? '';

export const secretKind: KindEntry = {
  strategy: {
    normalize: mergeStringData,
    validate: (object, { vocabulary }) => validateSecretContent(typed<Secret>(object), vocabulary),
    validateUpdate: (object, old) => {
      const errors = frozenErrors(object, old, ['data']);
      immutableField(errors, typeOf(object), typeOf(old), 'type');
      return errors.all;
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
