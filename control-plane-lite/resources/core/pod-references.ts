/** Objects of its namespace that a pod refers to, whether or not they exist. Pure. */
import type { Container, EphemeralContainer, PodSpec, Volume } from '#api/gen/core-v1.ts';

export interface PodReferences {
  readonly secrets: ReadonlySet<string>;
  readonly configMaps: ReadonlySet<string>;
  readonly claims: ReadonlySet<string>;
}

interface Found {
  readonly secrets: Set<string>;
  readonly configMaps: Set<string>;
  readonly claims: Set<string>;
}

function add(to: Set<string>, name: string | undefined): void {
  if (name !== undefined && name !== '') to.add(name);
}

function fromContainer(found: Found, container: Container | EphemeralContainer): void {
  for (const { valueFrom } of container.env ?? []) {
    add(found.configMaps, valueFrom?.configMapKeyRef?.name);
    add(found.secrets, valueFrom?.secretKeyRef?.name);
  }
  for (const { configMapRef, secretRef } of container.envFrom ?? []) {
    add(found.configMaps, configMapRef?.name);
    add(found.secrets, secretRef?.name);
  }
}

/** Adds the credential secrets of a volume source. */
function fromLogin(found: Found, volume: Volume): void {
  add(found.secrets, volume.azureFile?.secretName);
  add(found.secrets, volume.csi?.nodePublishSecretRef?.name);
  add(found.secrets, volume.cephfs?.secretRef?.name);
  add(found.secrets, volume.cinder?.secretRef?.name);
  add(found.secrets, volume.flexVolume?.secretRef?.name);
  add(found.secrets, volume.iscsi?.secretRef?.name);
  add(found.secrets, volume.rbd?.secretRef?.name);
  add(found.secrets, volume.scaleIO?.secretRef?.name);
  add(found.secrets, volume.storageos?.secretRef?.name);
}

function fromVolume(found: Found, volume: Volume, podName: string): void {
  add(found.secrets, volume.secret?.secretName);
  add(found.configMaps, volume.configMap?.name);
  add(found.claims, volume.persistentVolumeClaim?.claimName);
  // The claim of an ephemeral volume is named after the pod and the volume.
  if (volume.ephemeral !== undefined) add(found.claims, `${podName}-${volume.name}`);
  for (const { secret, configMap } of volume.projected?.sources ?? []) {
    add(found.secrets, secret?.name);
    add(found.configMaps, configMap?.name);
  }
  fromLogin(found, volume);
}

/** `podName`: prefix of the claim names of ephemeral volumes. */
export function podReferences(spec: PodSpec, podName: string): PodReferences {
  const found: Found = { secrets: new Set(), configMaps: new Set(), claims: new Set() };
  for (const container of spec.initContainers ?? []) fromContainer(found, container);
  for (const container of spec.containers) fromContainer(found, container);
  for (const container of spec.ephemeralContainers ?? []) fromContainer(found, container);
  for (const volume of spec.volumes ?? []) fromVolume(found, volume, podName);
  for (const { name } of spec.imagePullSecrets ?? []) add(found.secrets, name);
  return found;
}
