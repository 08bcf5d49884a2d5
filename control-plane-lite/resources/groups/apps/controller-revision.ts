/** ControllerRevisions: immutable snapshots of templates. Source: apps/v1. */
import type { ControllerRevision } from '#api/gen/apps-v1.ts';
import type { KindEntry } from '../../contract.ts';
import { ageOf, NONE } from '../../rows.ts';
import { kindStrategy, validateImmutable } from '../kind.ts';

function controllerCell({ metadata }: ControllerRevision): string {
  const owner = metadata?.ownerReferences?.find(({ controller }) => controller === true);
  if (owner === undefined) return NONE;
  const [group] = owner.apiVersion.includes('/') ? owner.apiVersion.split('/') : [''];
  const suffix = group === '' || group === undefined ? '' : `.${group}`;
  return `${owner.kind.toLowerCase()}${suffix}/${owner.name}`;
}

export const controllerRevision: KindEntry = {
  strategy: kindStrategy<ControllerRevision>({
    unconditionalUpdate: false,
    validate: (errors, { revision }) => errors.nonNegative('revision', revision),
    validateUpdate: (errors, object, old) => validateImmutable(errors, object.data, old.data, 'data'),
    row: (object, { nowMs }) => [
      object.metadata?.name ?? '',
      controllerCell(object),
      String(object.revision),
      ageOf(object, nowMs),
    ],
  }),
};
