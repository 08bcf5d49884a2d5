/** Checks that an object from a client is the one that its request names. */
import { StatusError } from '#api/meta/status-error.ts';
import { invalid } from '#api/meta/status-errors.ts';
import type { ApiObject } from '../resources/contract.ts';
import type { ObjectRef } from './contract.ts';
import { decidingResource, kindSubject, resourceSubject } from './deps.ts';

/** @throws StatusError BadRequest */
export function checkName(ref: ObjectRef, { metadata: { name = '' } }: ApiObject): void {
  if (name === ref.name) return;
  throw new StatusError(
    'BadRequest',
    `the name of the object (${name}) does not match the name on the URL (${ref.name})`,
  );
}

/** @throws StatusError if the new object has another name, namespace or identity than the live one */
export function checkSameObject(
  ref: ObjectRef,
  object: ApiObject,
  live: ApiObject,
  subresource: string,
): void {
  checkName(ref, object);
  const { metadata } = object;
  const { namespace = '', uid = '', resourceVersion = '' } = metadata;
  if (namespace !== ref.namespace && namespace !== '') {
    throw new StatusError(
      'BadRequest',
      `the namespace of the object (${namespace}) does not match the namespace on the URL (${ref.namespace})`,
    );
  }
  if (ref.namespace !== '') metadata.namespace = ref.namespace;
  if (uid !== '' && uid !== live.metadata.uid) {
    const subject = resourceSubject(ref.resource);
    throw new StatusError(
      'Conflict',
      `Operation cannot be fulfilled on ${subject.name} ${JSON.stringify(ref.name)}: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${live.metadata.uid ?? ''}`,
      { details: { name: ref.name, kind: subject.name } },
    );
  }
  const unconditional = decidingResource(ref.resource).strategy.unconditionalUpdate ?? true;
  if (!unconditional && subresource === '' && (resourceVersion === '' || resourceVersion === '0')) {
    throw invalid(kindSubject(ref.resource), ref.name, [
      {
        kind: 'FieldValueInvalid',
        field: 'metadata.resourceVersion',
        badValue: 0,
        detail: 'must be specified for an update',
      },
    ]);
  }
}
