/** Collects the configuration objects that a pod references. Pure. */

import type {
  Container,
  EphemeralContainer,
  Pod,
  PodSpec,
  Volume,
  VolumeProjection,
} from '#api/gen/core-v1.ts';
import type { ConfigObject } from '../sources/types.ts';

/** Kinds of manifest objects, and Services, which exist only on the API server. */
export type ObjectKind = ConfigObject['kind'] | 'Service';

/** Identifies one object; `namespace` is empty for a PersistentVolume. */
export interface ObjectKey {
  readonly kind: ObjectKind;
  readonly namespace: string;
  readonly name: string;
}

/** Returns a key for maps and sets: `ConfigMap default/app`. */
export function formatObjectKey(key: ObjectKey): string {
  return `${key.kind} ${key.namespace}/${key.name}`;
}

type Reference = readonly [kind: ObjectKind, name: string | undefined];

function containerReferences(container: Container | EphemeralContainer): readonly Reference[] {
  return [
    ...(container.env ?? []).flatMap((variable): Reference[] => [
      ['ConfigMap', variable.valueFrom?.configMapKeyRef?.name],
      ['Secret', variable.valueFrom?.secretKeyRef?.name],
    ]),
    ...(container.envFrom ?? []).flatMap((source): Reference[] => [
      ['ConfigMap', source.configMapRef?.name],
      ['Secret', source.secretRef?.name],
    ]),
  ];
}

function projectionReferences(projection: VolumeProjection): readonly Reference[] {
  return [
    ['ConfigMap', projection.configMap?.name],
    ['Secret', projection.secret?.name],
  ];
}

/** Returns Secrets with the credentials of a volume source. */
function loginReferences(volume: Volume): readonly Reference[] {
  return [
    ['Secret', volume.azureFile?.secretName],
    ['Secret', volume.cephfs?.secretRef?.name],
    ['Secret', volume.cinder?.secretRef?.name],
    ['Secret', volume.csi?.nodePublishSecretRef?.name],
    ['Secret', volume.flexVolume?.secretRef?.name],
    ['Secret', volume.iscsi?.secretRef?.name],
    ['Secret', volume.rbd?.secretRef?.name],
    ['Secret', volume.scaleIO?.secretRef.name],
    ['Secret', volume.storageos?.secretRef?.name],
  ];
}

function volumeReferences(volume: Volume, podName: string): readonly Reference[] {
  return [
    ['ConfigMap', volume.configMap?.name],
    ['Secret', volume.secret?.secretName],
    ['PersistentVolumeClaim', volume.persistentVolumeClaim?.claimName],
    // The claim of a generic ephemeral volume is named after the pod and the volume.
    ['PersistentVolumeClaim', volume.ephemeral === undefined ? undefined : `${podName}-${volume.name}`],
    ...(volume.projected?.sources ?? []).flatMap(projectionReferences),
    ['Endpoints', volume.glusterfs?.endpoints],
    ...loginReferences(volume),
  ];
}

function specReferences(spec: PodSpec, podName: string): readonly Reference[] {
  return [
    ...[...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])].flatMap(
      containerReferences,
    ),
    ...(spec.volumes ?? []).flatMap((volume) => volumeReferences(volume, podName)),
    ...(spec.imagePullSecrets ?? []).map((reference): Reference => ['Secret', reference.name]),
  ];
}

/** Returns every ConfigMap, Secret, PersistentVolumeClaim and Endpoints that the manifest of the pod
 *  references, once each, whether or not it exists: environment, volumes, projections, volume credentials and
 *  servers, image pull secrets. */
export function objectReferences(pod: Pod): readonly ObjectKey[] {
  const namespace = pod.metadata?.namespace ?? '';
  if (pod.spec === undefined) return [];
  const found = new Map<string, ObjectKey>();
  for (const [kind, name] of specReferences(pod.spec, pod.metadata?.name ?? '')) {
    if (name === undefined || name === '') continue;
    const key = { kind, namespace, name };
    found.set(formatObjectKey(key), key);
  }
  return [...found.values()];
}
