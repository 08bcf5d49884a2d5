/** Names that a definition gives to its resource. Source: apiextensions/v1. */

import type { CustomResourceDefinitionNames } from '#api/gen/apiextensions-v1.ts';
import { dns1035LabelFaults } from '#api/meta/names.ts';
import type { Faults } from '#api/schema/validation/faults.ts';

/** Reports every error of the names: all are DNS labels, those of kinds in any case. */
export function validateNames(faults: Faults, names: CustomResourceDefinitionNames, path: string): void {
  const { plural, singular = '', kind, listKind = '', shortNames = [], categories = [] } = names;
  const check = (text: string, at: string): void =>
    faults.invalidAll(at, text, dns1035LabelFaults(text.toLowerCase()));
  if (plural === '') faults.required(`${path}.plural`);
  else faults.invalidAll(`${path}.plural`, plural, dns1035LabelFaults(plural));
  if (singular !== '') faults.invalidAll(`${path}.singular`, singular, dns1035LabelFaults(singular));
  if (kind === '') faults.required(`${path}.kind`);
  else check(kind, `${path}.kind`);
  if (listKind !== '') check(listKind, `${path}.listKind`);
  if (kind !== '' && kind === listKind) {
    faults.invalid(`${path}.listKind`, listKind, 'kind and listKind may not be the same');
  }
  for (const [index, name] of shortNames.entries()) {
    faults.invalidAll(`${path}.shortNames[${index}]`, name, dns1035LabelFaults(name));
  }
  for (const [index, name] of categories.entries()) check(name, `${path}.categories[${index}]`);
}
