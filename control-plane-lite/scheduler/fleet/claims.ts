/** Requirements of a pod's claims on its node. Claims with delayed binding get their volume when the pod gets
 *  its node: the smallest suitable existing one, or a newly provisioned one. Pure. Source: upstream's volume
 *  binder, release 1.24. */

import type { PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import type { StorageClass } from '#api/gen/storage-v1.ts';
import { compareQuantities } from '#api/meta/quantity.ts';
import { matchesLabels, selectorRequirements } from '#api/meta/selectors.ts';
import type { NodeInfo, SchedulerLabelKeys } from './model.ts';
import { matchesNodeTerm, readNodeTerm } from './node-terms.ts';
import type { Volumes } from './volumes.ts';

export type ClaimState =
  | { readonly kind: 'bound'; readonly volume: PersistentVolume }
  /** The volume that the claim is bound to does not exist. */
  | { readonly kind: 'lost' }
  /** It will be bound without regard to pods, and isn't yet. */
  | { readonly kind: 'unbound' }
  | { readonly kind: 'waiting'; readonly storageClass: StorageClass };

export type VolumeChoice =
  | { readonly kind: 'volume'; readonly claim: PersistentVolumeClaim; readonly volume: PersistentVolume }
  /** A volume is to be provisioned for the node. */
  | { readonly kind: 'provision'; readonly claim: PersistentVolumeClaim };

const classOf = ({ spec }: PersistentVolumeClaim): string => spec?.storageClassName ?? '';

export const claimKeyOf = ({ metadata }: PersistentVolumeClaim): string =>
  `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;

export function isBound({ spec, status }: PersistentVolumeClaim): boolean {
  return (spec?.volumeName ?? '') !== '' && status?.phase === 'Bound';
}

export function claimState(claim: PersistentVolumeClaim, volumes: Volumes): ClaimState {
  const volumeName = claim.spec?.volumeName ?? '';
  if (isBound(claim)) {
    const volume = volumes.volume(volumeName);
    return volume === undefined ? { kind: 'lost' } : { kind: 'bound', volume };
  }
  const storageClass = volumes.storageClass(classOf(claim));
  const waits = storageClass?.volumeBindingMode === 'WaitForFirstConsumer' && volumeName === '';
  return waits ? { kind: 'waiting', storageClass } : { kind: 'unbound' };
}

/** Reports whether the volume is available to this claim and satisfies it. */
function suits(volume: PersistentVolume, claim: PersistentVolumeClaim, volumes: Volumes): boolean {
  const { spec = {}, metadata = {}, status } = volume;
  const wanted = claim.spec ?? {};
  const key = claimKeyOf(claim);
  if (metadata.deletionTimestamp !== undefined) return false;
  const { claimRef } = spec;
  const isOurs = claimRef !== undefined && `${claimRef.namespace ?? ''}/${claimRef.name ?? ''}` === key;
  if (claimRef !== undefined && !isOurs) return false;
  if (claimRef === undefined && status?.phase !== undefined && !isFree(status.phase)) return false;
  const reserved = volumes.reservedFor(metadata.name ?? '');
  if (reserved !== undefined && reserved !== key) return false;
  if ((wanted.volumeMode ?? 'Filesystem') !== (spec.volumeMode ?? 'Filesystem')) return false;
  if (!(wanted.accessModes ?? []).every((mode) => (spec.accessModes ?? []).includes(mode))) return false;
  const size = wanted.resources?.requests?.['storage'] ?? '0';
  if (compareQuantities(spec.capacity?.['storage'] ?? '0', size) < 0) return false;
  return (
    wanted.selector === undefined ||
    matchesLabels(selectorRequirements(wanted.selector), metadata.labels ?? {})
  );
}

const isFree = (phase: string): boolean => phase === 'Available' || phase === 'Pending';

function isReachable({ spec }: PersistentVolume, node: NodeInfo): boolean {
  const terms = spec?.nodeAffinity?.required?.nodeSelectorTerms;
  return terms === undefined || terms.some((term) => matchesNodeTerm(readNodeTerm(term), node));
}

const smaller = (a: PersistentVolume, b: PersistentVolume): boolean =>
  compareQuantities(a.spec?.capacity?.['storage'] ?? '0', b.spec?.capacity?.['storage'] ?? '0') < 0;

/** Where volumes are chosen for claims. */
interface VolumesView {
  readonly volumes: Volumes;
  readonly labelKeys: SchedulerLabelKeys;
}

function isAllowed(
  { provisioner, allowedTopologies }: StorageClass,
  node: NodeInfo,
  labelKeys: SchedulerLabelKeys,
): boolean {
  if (provisioner === labelKeys.noProvisioner) return false;
  if (allowedTopologies === undefined || allowedTopologies.length === 0) return true;
  return allowedTopologies.some(({ matchLabelExpressions = [] }) =>
    matchLabelExpressions.every(({ key, values }) => values.includes(node.labels[key] ?? '')),
  );
}

/** Reports whether the driver has enough space on the node, as far as it reports that. Source: storage capacity,
 *  upstream's volume binder, release 1.24. */
function hasSpace(
  claim: PersistentVolumeClaim,
  { metadata, provisioner }: StorageClass,
  node: NodeInfo,
  volumes: Volumes,
): boolean {
  if (!volumes.reportsCapacity(provisioner)) return true;
  const size = claim.spec?.resources?.requests?.['storage'] ?? '0';
  for (const { capacity, maximumVolumeSize, nodeTopology } of volumes.capacitiesOfClass(
    metadata?.name ?? '',
  )) {
    const most = maximumVolumeSize ?? capacity;
    if (most === undefined || nodeTopology === undefined || compareQuantities(most, size) < 0) continue;
    if (matchesLabels(selectorRequirements(nodeTopology), node.labels)) return true;
  }
  return false;
}

/** Why a claim gets no volume on a node. */
export type NoVolume = 'noVolume' | 'noSpace';

/** Returns volumes on the node for these unbound claims, or why one has no match. */
export function chooseVolumes(
  waiting: readonly { readonly claim: PersistentVolumeClaim; readonly storageClass: StorageClass }[],
  node: NodeInfo,
  { volumes, labelKeys }: VolumesView,
): readonly VolumeChoice[] | NoVolume {
  const taken = new Set<string>();
  const choices: VolumeChoice[] = [];
  for (const { claim, storageClass } of waiting) {
    let best: PersistentVolume | undefined;
    for (const volume of volumes.volumesOfClass(classOf(claim))) {
      if (taken.has(volume.metadata?.name ?? '') || !suits(volume, claim, volumes)) continue;
      if (isReachable(volume, node) && (best === undefined || smaller(volume, best))) best = volume;
    }
    if (best !== undefined) {
      taken.add(best.metadata?.name ?? '');
      choices.push({ kind: 'volume', claim, volume: best });
    } else if (!isAllowed(storageClass, node, labelKeys)) {
      return 'noVolume';
    } else if (hasSpace(claim, storageClass, node, volumes)) {
      choices.push({ kind: 'provision', claim });
    } else {
      return 'noSpace';
    }
  }
  return choices;
}
