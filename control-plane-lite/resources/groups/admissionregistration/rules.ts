/** Rules of webhooks: the requests that they match. A `*` matches everything and must be the only element.
 *  Source: webhook rules, document 2 §2.6. */

import type { RuleWithOperations } from '#api/gen/admissionregistration-v1.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';

const ALL = '*';

/** Reports every error of a list in which `*` must be the only value. */
function validateAlone(errors: FieldErrors, items: readonly string[], path: string): void {
  if (items.length > 1 && items.includes(ALL)) {
    errors.invalid(path, items, "if '*' is present, must not specify others");
  }
}

interface SeenResources {
  /** `*`/… : that part of every resource. */
  readonly parts: Set<string>;
  /** …/`*`: every part of that resource. */
  readonly resources: Set<string>;
}

/** A resource that another of the list includes already. */
function validateResource(errors: FieldErrors, text: string, seen: SeenResources, path: string): void {
  if (text === '') return errors.required(path);
  if (!text.includes('/')) return undefined;
  const [resource = '', part = ''] = text.split('/', 2);
  if (seen.resources.has(resource)) {
    errors.invalid(path, text, `if '${resource}/*' is present, must not specify ${text}`);
  }
  if (seen.parts.has(part)) errors.invalid(path, text, `if '*/${part}' is present, must not specify ${text}`);
  if (part === ALL) seen.resources.add(resource);
  if (resource === ALL) seen.parts.add(part);
  return undefined;
}

function validateResources(errors: FieldErrors, resources: readonly string[], path: string): void {
  if (resources.length === 0) errors.required(path);
  const seen: SeenResources = { parts: new Set(), resources: new Set() };
  for (const [index, resource] of resources.entries()) {
    validateResource(errors, resource, seen, `${path}[${index}]`);
  }
  if (resources.length > 1 && resources.includes('*/*')) {
    errors.invalid(path, resources, "if '*/*' is present, must not specify other resources");
  }
  const plain = resources.filter((resource) => !resource.includes('/'));
  if (plain.length > 1 && plain.includes(ALL)) {
    const detail = "if '*' is present, must not specify other resources without subresources";
    errors.invalid(path, resources, detail);
  }
}

/** Reports every error of one rule. The decoder has validated enumerations. */
export function validateRule(errors: FieldErrors, rule: RuleWithOperations, path: string): void {
  const { operations = [], apiGroups = [], apiVersions = [], resources = [], scope } = rule;
  if (operations.length === 0) errors.required(`${path}.operations`);
  validateAlone(errors, operations, `${path}.operations`);
  if (apiGroups.length === 0) errors.required(`${path}.apiGroups`);
  validateAlone(errors, apiGroups, `${path}.apiGroups`);
  if (apiVersions.length === 0) errors.required(`${path}.apiVersions`);
  validateAlone(errors, apiVersions, `${path}.apiVersions`);
  for (const [index, version] of apiVersions.entries()) {
    if (version === '') errors.required(`${path}.apiVersions[${index}]`);
  }
  validateResources(errors, resources, `${path}.resources`);
  if (scope === undefined) errors.required(`${path}.scope`);
}
