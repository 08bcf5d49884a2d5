/** Decisions about local volumes for claims of manifests. Pure. */
import { createHash } from 'node:crypto';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import { value } from '#api/meta/quantity.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import {
  LOCAL_VOLUME_KINDS,
  type LocalVolume,
  type LocalVolumeKind,
  type LocalVolumeSpec,
} from '#volumes/contract/local-volumes.ts';
import { VolumeSetupError } from '#volumes/errors/setup-error.ts';

export interface ClaimNames {
  /** Annotation of a claim of a manifest: `Delete` removes the volume when its claim is removed. */
  readonly reclaimPolicy: string;
}

export const claimNames = ({ domain }: Pick<Vocabulary, 'domain'>): ClaimNames => ({
  reclaimPolicy: `local.${domain}/reclaim-policy`,
});

/** Names of the classes, the same as in `examples/local-storage.yaml`. */
const CLASS_PREFIX = 'local-';
const LONGEST = 200;

/** Name of the volume of a claim. The underscore keeps it apart from every PersistentVolume of a manifest. */
export function localVolumeName({ metadata }: PersistentVolumeClaim): string {
  const name = `${metadata?.namespace ?? 'default'}_${metadata?.name ?? ''}`;
  if (name.length <= LONGEST) return name;
  return `${name.slice(0, LONGEST)}-${createHash('sha256').update(name).digest('hex').slice(0, 16)}`;
}

export type LocalClaimDecision =
  | { readonly kind: 'create'; readonly spec: LocalVolumeSpec }
  /** A volume of the manifests is reserved for the claim. */
  | { readonly kind: 'volume'; readonly name: string }
  | { readonly kind: 'none' };

function kindOf(className: string | undefined): LocalVolumeKind | undefined {
  if (className === undefined) return 'directory';
  return LOCAL_VOLUME_KINDS.find((kind) => className === `${CLASS_PREFIX}${kind}`);
}

const isReservedFor = ({ spec }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean =>
  spec?.claimRef !== undefined &&
  spec.claimRef.name === metadata?.name &&
  spec.claimRef.namespace === metadata?.namespace;

/** @throws VolumeSetupError for a claim that no local volume satisfies */
export function decideLocalClaim(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
  names: ClaimNames,
): LocalClaimDecision {
  const { namespace = 'default', name = '', annotations = {} } = claim.metadata ?? {};
  const { volumeName = '', storageClassName, selector, volumeMode = 'Filesystem' } = claim.spec ?? {};
  if (volumeName !== '') return { kind: 'none' };
  const reserved = volumes.find((volume) => isReservedFor(volume, claim));
  if (reserved !== undefined) return { kind: 'volume', name: reserved.metadata?.name ?? '' };
  const kind = kindOf(storageClassName);
  if (kind === undefined || selector !== undefined) return { kind: 'none' };
  const refuse = (why: string): Error =>
    new VolumeSetupError(`PersistentVolumeClaim ${namespace}/${name}: ${why}`);
  if (volumeMode !== 'Filesystem')
    throw refuse(`spec.volumeMode ${volumeMode} is not supported by local volumes; use Filesystem`);
  const policy = annotations[names.reclaimPolicy] ?? 'Retain';
  if (policy !== 'Delete' && policy !== 'Retain')
    throw refuse(
      `annotation ${names.reclaimPolicy} is ${JSON.stringify(policy.slice(0, 64))}; use Delete or Retain`,
    );
  const sizeBytes = Math.ceil(value(claim.spec?.resources?.requests?.['storage'] ?? '0'));
  return {
    kind: 'create',
    spec: {
      name: localVolumeName(claim),
      kind,
      owner: 'manifest',
      sizeBytes,
      reclaimPolicy: policy,
      claim: { namespace, name },
    },
  };
}

/** Returns the volume as an object that a claim can be bound to. */
export function persistentVolumeOf({
  name,
  sizeBytes,
  reclaimPolicy,
  claim,
  path,
}: LocalVolume): PersistentVolume {
  return {
    metadata: { name },
    spec: {
      capacity: { storage: String(sizeBytes) },
      accessModes: ['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany'],
      persistentVolumeReclaimPolicy: reclaimPolicy,
      claimRef: { kind: 'PersistentVolumeClaim', ...claim },
      local: { path },
    },
  };
}
