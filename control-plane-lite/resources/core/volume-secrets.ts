/** Secrets of a persistent volume that nodes need to mount it. Pure. Source: upstream's visitor of the
 *  secrets of volumes, except for those that only controllers use. */
import type { PersistentVolumeSpec, SecretReference } from '#api/gen/core-v1.ts';

/** `namespace/name` each. A reference without a namespace means that of the claim. */
export function volumeSecrets(spec: PersistentVolumeSpec): readonly string[] {
  const claimNamespace = spec.claimRef?.namespace ?? '';
  const { azureFile, csi } = spec;
  const references: readonly (SecretReference | undefined)[] = [
    ...[spec.cephfs, spec.cinder, spec.flexVolume, spec.iscsi, spec.rbd, spec.scaleIO, spec.storageos].map(
      (source) => source?.secretRef,
    ),
    csi?.nodeStageSecretRef,
    csi?.nodePublishSecretRef,
    azureFile === undefined
      ? undefined
      : {
          name: azureFile.secretName,
          ...(azureFile.secretNamespace === undefined ? {} : { namespace: azureFile.secretNamespace }),
        },
  ];
  return references.flatMap((reference) => {
    const { name = '', namespace = '' } = reference ?? {};
    const at = namespace === '' ? claimNamespace : namespace;
    return name === '' || at === '' ? [] : [`${at}/${name}`];
  });
}
