/** How a plugin refuses, in the field's words. */
import type { StatusError } from '#api/meta/status-error.ts';
import { forbidden } from '#api/meta/status-errors.ts';
import type { AdmissionRequest } from './contract.ts';

/** What the request is about; a name that is still to be generated is told by what it begins with. */
export function nameIn({ name, object }: AdmissionRequest): string {
  if (name !== '') return name;
  const given = object?.metadata.name ?? '';
  const begun = given === '' ? (object?.metadata.generateName ?? '') : given;
  return begun === '' ? 'Unknown' : begun;
}

/** The refusal of a request: 403. */
export function refusal(request: AdmissionRequest, why: string): StatusError {
  const { group, plural } = request.resource.info;
  return forbidden({ group, name: plural }, nameIn(request), why);
}
