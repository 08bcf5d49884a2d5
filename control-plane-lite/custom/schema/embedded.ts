/** Embedded resources: objects inside of objects, with apiVersion, kind and validated metadata. Pure. Source:
 *  apiextensions/v1, embedded resources. */

import type { ObjectMeta } from '#api/gen/meta-v1.ts';
import { isMutableObject } from '#api/kit/object.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { dns1035LabelErrors } from '#api/meta/names.ts';
import { boundedFieldErrors, createFieldErrors } from '#api/schema/validation/field-errors.ts';
import { validateMetadata } from '#api/schema/validation/metadata.ts';
import { pathSegmentErrors } from '../../resources/groups/names.ts';

/** Placeholder for a missing name, which is not an error here. */
const ANY_NAME = 'name';

/** Reports every error in the type and the metadata of an embedded object. */
export function validateEmbedded(
  object: Readonly<Record<string, unknown>>,
  path: string,
  report: (error: FieldError) => void,
): void {
  const errors = createFieldErrors();
  const { apiVersion, kind, metadata } = object;
  if (apiVersion === undefined || apiVersion === '')
    errors.required(`${path}.apiVersion`, 'must not be empty');
  else if (typeof apiVersion !== 'string' || apiVersion.split('/').length > 2) {
    errors.invalid(`${path}.apiVersion`, apiVersion, 'must be a group and version, or a version');
  }
  if (kind === undefined || kind === '') errors.required(`${path}.kind`, 'must not be empty');
  else if (typeof kind !== 'string') errors.invalid(`${path}.kind`, kind, 'must be a string');
  else errors.invalidAll(`${path}.kind`, kind, dns1035LabelErrors(kind.toLowerCase()));
  for (const error of errors.all) report(error);
  if (!isMutableObject(metadata)) return;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- read by the decoder of metadata before
  const meta = metadata as ObjectMeta;
  const named = (meta.name ?? '') === '' ? { ...meta, name: ANY_NAME } : meta;
  const rules = { namespaced: (meta.namespace ?? '') !== '', nameErrors: pathSegmentErrors };
  const check = (): readonly FieldError[] => validateMetadata(named, rules, `${path}.metadata`);
  for (const error of boundedFieldErrors([check])) report(error);
}
