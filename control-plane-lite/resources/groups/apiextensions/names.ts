/** Names that a definition gives to its resource. Source: apiextensions/v1. */

import type { CustomResourceDefinitionNames } from '#api/gen/apiextensions-v1.ts';
import { dns1035LabelErrors } from '#api/meta/names.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';

/** Reports every error of the names: all are DNS labels, those of kinds in any case. */
export function validateNames(errors: FieldErrors, names: CustomResourceDefinitionNames, path: string): void {
  const { plural, singular = '', kind, listKind = '', shortNames = [], categories = [] } = names;
  const check = (text: string, at: string): void =>
    errors.invalidAll(at, text, dns1035LabelErrors(text.toLowerCase()));
  if (plural === '') errors.required(`${path}.plural`);
  else errors.invalidAll(`${path}.plural`, plural, dns1035LabelErrors(plural));
  if (singular !== '') errors.invalidAll(`${path}.singular`, singular, dns1035LabelErrors(singular));
  if (kind === '') errors.required(`${path}.kind`);
  else check(kind, `${path}.kind`);
  if (listKind !== '') check(listKind, `${path}.listKind`);
  if (kind !== '' && kind === listKind) {
    errors.invalid(`${path}.listKind`, listKind, 'kind and listKind may not be the same');
  }
  for (const [index, name] of shortNames.entries()) {
    errors.invalidAll(`${path}.shortNames[${index}]`, name, dns1035LabelErrors(name));
  }
  for (const [index, name] of categories.entries()) check(name, `${path}.categories[${index}]`);
}
