/** Admission of claims and volumes: adds the protection finalizers, and permits expansion only where the
 *  class does. Source: StorageObjectInUseProtection and PersistentVolumeClaimResize, document 2 §2.7;
 *  upstream's plugins, release 1.24. */

import type { PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import type { StorageClass } from '#api/gen/storage-v1.ts';
import { compareQuantities } from '#api/meta/quantity.ts';
import { typed } from '../resources/view.ts';
import type { AdmissionPlugin } from './contract.ts';
import type { AdmissionDeps } from './deps.ts';
import { refusal } from './refusal.ts';

/** Finalizers that keep volumes and claims in use. */
export function createStorageProtection({ vocabulary }: Pick<AdmissionDeps, 'vocabulary'>): AdmissionPlugin {
  const finalizers: Readonly<Record<string, string>> = {
    persistentvolumes: `${vocabulary.domain}/pv-protection`,
    persistentvolumeclaims: `${vocabulary.domain}/pvc-protection`,
  };
  return {
    name: 'StorageObjectInUseProtection',
    operations: ['CREATE'],
    resources: new Set(Object.keys(finalizers).map((plural) => `/${plural}`)),
    mutate({ object, subresource, resource }) {
      const finalizer = finalizers[resource.info.plural];
      if (object === undefined || subresource !== '' || finalizer === undefined) return;
      const given = object.metadata.finalizers ?? [];
      if (!given.includes(finalizer)) object.metadata.finalizers = [...given, finalizer];
    },
  };
}

export function createClaimResize({ vocabulary, objects }: AdmissionDeps): AdmissionPlugin {
  const classes = objects(`storage.${vocabulary.apiGroupDomain}`, 'storageclasses');
  const annotation = `volume.beta.${vocabulary.domain}/storage-class`;
  const classOf = ({ metadata, spec }: PersistentVolumeClaim): string =>
    metadata?.annotations?.[annotation] ?? spec?.storageClassName ?? '';
  const sizeOf = ({ spec }: PersistentVolumeClaim): string => spec?.resources?.requests?.['storage'] ?? '0';

  async function mayGrow(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): Promise<boolean> {
    const name = classOf(claim);
    if (name === '' || name !== classOf(old)) return false;
    const found = await classes.find(name);
    return found !== undefined && typed<StorageClass>(found.object()).allowVolumeExpansion === true;
  }

  return {
    name: 'PersistentVolumeClaimResize',
    operations: ['UPDATE'],
    resources: new Set(['/persistentvolumeclaims']),
    async validate(request) {
      if (request.object === undefined || request.old === undefined || request.subresource !== '') return;
      const claim = typed<PersistentVolumeClaim>(request.object);
      const old = typed<PersistentVolumeClaim>(request.old);
      if (compareQuantities(sizeOf(claim), sizeOf(old)) <= 0) return;
      if (old.status?.phase !== 'Bound')
        throw refusal(request, 'Only bound persistent volume claims can be expanded');
      if (!(await mayGrow(claim, old)))
        throw refusal(
          request,
          'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
        );
    },
  };
}
