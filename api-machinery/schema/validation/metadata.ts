/** Validation of object metadata: names, namespaces, labels, annotations, owners, finalizers. */

import type { ObjectMeta, OwnerReference } from '../../gen/meta-v1.ts';
import type { FieldError } from '../../meta/field-error.ts';
import { validateAnnotations, validateLabels } from '../../meta/labels.ts';
import { dns1123LabelErrors, dns1123SubdomainErrors, qualifiedNameErrors } from '../../meta/names.ts';
import { createBoundedFieldErrors, type FieldErrors } from './field-errors.ts';

export interface MetadataRules {
  readonly namespaced: boolean;
  /** Returns the reasons why a name is invalid for this kind; default: DNS subdomain. */
  readonly nameErrors?: (name: string) => readonly string[];
}

/** Returns every validation error of an object's metadata. A name is required: it is not generated here. */
export function validateMetadata(
  metadata: ObjectMeta | undefined,
  rules: MetadataRules,
  path = 'metadata',
): readonly FieldError[] {
  const errors = createBoundedFieldErrors();
  const { name = '', namespace = '' } = metadata ?? {};
  if (name === '') errors.required(`${path}.name`, 'a name is needed; generateName does not make one here');
  else errors.invalidAll(`${path}.name`, name, (rules.nameErrors ?? dns1123SubdomainErrors)(name));
  if (rules.namespaced && namespace === '') errors.required(`${path}.namespace`);
  else if (rules.namespaced) errors.invalidAll(`${path}.namespace`, namespace, dns1123LabelErrors(namespace));
  else if (namespace !== '') errors.forbidden(`${path}.namespace`, 'objects of this kind have no namespace');
  errors.nonNegative(`${path}.generation`, metadata?.generation);
  validateOwners(errors, metadata?.ownerReferences ?? [], `${path}.ownerReferences`);
  for (const [index, finalizer] of (metadata?.finalizers ?? []).entries()) {
    const reasons = qualifiedNameErrors(finalizer);
    if (reasons.length > 0) errors.invalidAll(`${path}.finalizers[${index}]`, finalizer, reasons);
  }
  return [
    ...errors.all,
    ...validateLabels(metadata?.labels ?? {}, `${path}.labels`),
    ...validateAnnotations(metadata?.annotations ?? {}, `${path}.annotations`),
  ];
}

function validateOwners(errors: FieldErrors, owners: readonly OwnerReference[], path: string): void {
  for (const [index, owner] of owners.entries()) {
    for (const member of ['apiVersion', 'kind', 'name', 'uid'] as const) {
      if (owner[member] === '') errors.required(`${path}[${index}].${member}`);
    }
  }
  const controllers = owners.filter((owner) => owner.controller === true);
  if (controllers.length > 1) {
    errors.invalid(
      path,
      controllers.map((owner) => owner.name),
      'only one owner may be the controller',
    );
  }
}
