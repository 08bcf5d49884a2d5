/** Enforces the LimitRanges of a namespace on pods and claims, and sets their defaults on containers. Source:
 *  LimitRanger, document 2 §2.7; upstream's plugin, release 1.24. */
import type { LimitRange, PersistentVolumeClaim, Pod } from '#api/gen/core-v1.ts';
import { typed } from '../resources/view.ts';
import { indexByNamespace } from './by-namespace.ts';
import type { AdmissionPlugin, AdmissionRequest } from './contract.ts';
import type { AdmissionDeps } from './deps.ts';
import { claimErrors, podErrors } from './limit-ranger/constraints.ts';
import { giveDefaults } from './limit-ranger/defaults.ts';
import { refusal } from './refusal.ts';

export function createLimitRanger({ vocabulary, objects }: AdmissionDeps): AdmissionPlugin {
  const rangesOf = indexByNamespace(objects('', 'limitranges'));
  const annotation = `${vocabulary.domain}/limit-ranger`;

  /** Resources of containers are immutable, and terminating objects are not checked. */
  function concerns({ resource, operation, subresource, object }: AdmissionRequest): boolean {
    if (object === undefined || subresource !== '') return false;
    if (resource.info.plural === 'pods' && operation === 'UPDATE') return false;
    return object.metadata.deletionTimestamp === undefined;
  }

  return {
    name: 'LimitRanger',
    operations: ['CREATE', 'UPDATE'],
    resources: new Set(['/pods', '/persistentvolumeclaims']),
    mutate(request) {
      if (request.resource.info.plural !== 'pods' || request.object === undefined || !concerns(request))
        return;
      for (const range of rangesOf(request.namespace))
        giveDefaults(request.object, typed<LimitRange>(range), annotation);
    },
    validate(request) {
      const { object, namespace, resource } = request;
      if (object === undefined || !concerns(request)) return;
      for (const range of rangesOf(namespace)) {
        const limits = typed<LimitRange>(range).spec?.limits ?? [];
        const errors =
          resource.info.plural === 'pods'
            ? podErrors(typed<Pod>(object), limits)
            : claimErrors(typed<PersistentVolumeClaim>(object), limits);
        const [first, ...more] = errors;
        if (first === undefined) continue;
        throw refusal(request, more.length === 0 ? first : `[${errors.join(', ')}]`);
      }
    },
  };
}
