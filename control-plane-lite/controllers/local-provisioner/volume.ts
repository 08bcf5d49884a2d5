/** The PersistentVolume of a local volume, and the responses of agents about them. Pure. */
import { copyJson } from '#api/codec/copy-json.ts';
import type { PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import { isObject, textOf } from '#api/kit/object.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { classOf } from '../persistentvolume-binder/model.ts';
import type { NodeVolume, ProvisionerNames, VolumeRequest } from './decide.ts';

export interface CreatedVolume {
  readonly path: string;
  readonly sizeBytes: number;
}

/** Returns the volume that the agent has created; undefined for a response of another form. */
export function parseCreated(value: unknown): CreatedVolume | undefined {
  if (!isObject(value)) return undefined;
  const path = textOf(value['path']);
  const { sizeBytes } = value;
  const isSafe = path.startsWith('/') && !path.split('/').includes('..') && path.length <= 4096;
  if (!isSafe || typeof sizeBytes !== 'number' || !Number.isSafeInteger(sizeBytes)) return undefined;
  return { path, sizeBytes };
}

export function parseList(value: unknown): readonly NodeVolume[] {
  const items: unknown = isObject(value) ? value['items'] : undefined;
  return (Array.isArray(items) ? items : []).flatMap((item: unknown) =>
    isObject(item) && textOf(item['name']).startsWith('pvc-')
      ? [{ name: textOf(item['name']), used: item['used'] !== false }]
      : [],
  );
}

export interface VolumeParts {
  readonly name: string;
  readonly hostname: string;
  readonly provisioner: string;
  readonly request: VolumeRequest;
  readonly created: CreatedVolume;
}

export function persistentVolumeFor(
  { info, schema }: Resource,
  claim: PersistentVolumeClaim,
  names: ProvisionerNames,
  { name, hostname, provisioner, request, created }: VolumeParts,
): ApiObject {
  const { uid, namespace, name: claimName, resourceVersion } = claim.metadata ?? {};
  const term = { matchExpressions: [{ key: names.hostname, operator: 'In', values: [hostname] }] };
  const volume: ApiObject = {
    apiVersion: 'v1',
    kind: info.kind,
    metadata: { name, annotations: { [names.provisionedBy]: provisioner } },
    spec: {
      // The requested size of a directory is a wish; that of a file system has been rounded up.
      capacity: { storage: String(created.sizeBytes) },
      accessModes: copyJson(claim.spec?.accessModes ?? []),
      persistentVolumeReclaimPolicy: request.reclaimPolicy,
      storageClassName: classOf(claim, names),
      volumeMode: 'Filesystem',
      claimRef: {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        namespace,
        name: claimName,
        uid,
        resourceVersion,
      },
      local: { path: created.path },
      nodeAffinity: { required: { nodeSelectorTerms: [term] } },
    },
  };
  schema.applyDefaults(volume);
  return volume;
}
