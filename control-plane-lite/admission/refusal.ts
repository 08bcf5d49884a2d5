/** Errors with which plugins reject requests, with upstream's texts. */
import type { StatusError } from '#api/meta/status-error.ts';
import { forbidden } from '#api/meta/status-errors.ts';
import type { AdmissionRequest } from './contract.ts';

/** Target of the request; an object without a name yet is identified by its generateName. */
export function nameIn({ name, object }: AdmissionRequest): string {
  if (name !== '') return name;
  const given = object?.metadata.name ?? '';
  const begun = given === '' ? (object?.metadata.generateName ?? '') : given;
  return begun === '' ? 'Unknown' : begun;
}

/** Rejection of a request: 403. */
export function refusal(request: AdmissionRequest, why: string): StatusError {
  const { group, plural } = request.resource.info;
  return forbidden({ group, name: plural }, nameIn(request), why);
}
