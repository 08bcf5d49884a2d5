/** Embedded resources: objects inside of objects, with apiVersion, kind and validated metadata. Pure. Source:
 *  apiextensions/v1, embedded resources. */

import type { ObjectMeta } from '#api/gen/meta-v1.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { dns1035LabelFaults } from '#api/meta/names.ts';
import { boundedFaults, createFaults } from '#api/schema/validation/faults.ts';
import { validateMetadata } from '#api/schema/validation/metadata.ts';
import { pathSegmentFaults } from '../../resources/groups/names.ts';
import { isMembers } from '../../resources/view.ts';

/** Stands for the name of an object that has none, which is no fault here. */
const ANY_NAME = 'name';

/** Tells every fault of what an embedded object says of itself. */
export function validateEmbedded(
  object: Readonly<Record<string, unknown>>,
  path: string,
  tell: (fault: FieldError) => void,
): void {
  const faults = createFaults();
  const { apiVersion, kind, metadata } = object;
  if (apiVersion === undefined || apiVersion === '')
    faults.required(`${path}.apiVersion`, 'must not be empty');
  else if (typeof apiVersion !== 'string' || apiVersion.split('/').length > 2) {
    faults.invalid(`${path}.apiVersion`, apiVersion, 'must be a group and version, or a version');
  }
  if (kind === undefined || kind === '') faults.required(`${path}.kind`, 'must not be empty');
  else if (typeof kind !== 'string') faults.invalid(`${path}.kind`, kind, 'must be a string');
  else faults.invalidAll(`${path}.kind`, kind, dns1035LabelFaults(kind.toLowerCase()));
  for (const fault of faults.errors) tell(fault);
  if (!isMembers(metadata)) return;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- read by the decoder of metadata before
  const meta = metadata as ObjectMeta;
  const named = (meta.name ?? '') === '' ? { ...meta, name: ANY_NAME } : meta;
  const rules = { namespaced: (meta.namespace ?? '') !== '', nameFaults: pathSegmentFaults };
  const check = (): readonly FieldError[] => validateMetadata(named, rules, `${path}.metadata`);
  for (const fault of boundedFaults([check])) tell(fault);
}
