/** Validation of object metadata: names, namespaces, labels, annotations, owners, finalizers. */

import type { ObjectMeta, OwnerReference } from '../../gen/meta-v1.ts';
import type { FieldError } from '../../meta/field-error.ts';
import { validateAnnotations, validateLabels } from '../../meta/labels.ts';
import { dns1123LabelFaults, dns1123SubdomainFaults, qualifiedNameFaults } from '../../meta/names.ts';
import { createBoundedFaults, type Faults } from './faults.ts';

export interface MetadataRules {
  readonly namespaced: boolean;
  /** Returns the reasons why a name is invalid for this kind; default: DNS subdomain. */
  readonly nameFaults?: (name: string) => readonly string[];
}

/** Returns every validation error of an object's metadata. A name is required: it is not generated here. */
export function validateMetadata(
  metadata: ObjectMeta | undefined,
  rules: MetadataRules,
  path = 'metadata',
): readonly FieldError[] {
  const faults = createBoundedFaults();
  const { name = '', namespace = '' } = metadata ?? {};
  if (name === '') faults.required(`${path}.name`, 'a name is needed; generateName does not make one here');
  else faults.invalidAll(`${path}.name`, name, (rules.nameFaults ?? dns1123SubdomainFaults)(name));
  if (rules.namespaced && namespace === '') faults.required(`${path}.namespace`);
  else if (rules.namespaced) faults.invalidAll(`${path}.namespace`, namespace, dns1123LabelFaults(namespace));
  else if (namespace !== '') faults.forbidden(`${path}.namespace`, 'objects of this kind have no namespace');
  faults.nonNegative(`${path}.generation`, metadata?.generation);
  validateOwners(faults, metadata?.ownerReferences ?? [], `${path}.ownerReferences`);
  for (const [index, finalizer] of (metadata?.finalizers ?? []).entries()) {
    faults.invalidAll(`${path}.finalizers[${index}]`, finalizer, qualifiedNameFaults(finalizer));
  }
  return [
    ...faults.errors,
    ...validateLabels(metadata?.labels ?? {}, `${path}.labels`),
    ...validateAnnotations(metadata?.annotations ?? {}, `${path}.annotations`),
  ];
}

function validateOwners(faults: Faults, owners: readonly OwnerReference[], path: string): void {
  for (const [index, owner] of owners.entries()) {
    for (const member of ['apiVersion', 'kind', 'name', 'uid'] as const) {
      if (owner[member] === '') faults.required(`${path}[${index}].${member}`);
    }
  }
  const controllers = owners.filter((owner) => owner.controller === true);
  if (controllers.length > 1) {
    faults.invalid(
      path,
      controllers.map((owner) => owner.name),
      'only one owner may be the controller',
    );
  }
}
