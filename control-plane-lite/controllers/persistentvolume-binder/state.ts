/** Cached claims, volumes and classes, indexed for the binder's queries. */
import type { PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import type { StorageClass } from '#api/gen/storage-v1.ts';
import type { CacheChange, ResourceCache, WatchHandle } from '../../cache/contract.ts';
import { typed } from '../../resources/view.ts';
import { createIndex } from '../workloads-kit/indexed.ts';
import { type BinderNames, claimKeyOf, classOf, hasAnnotation, keyOf, nameOf } from './model.ts';

export interface BinderState extends WatchHandle {
  claim(key: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
  storageClass(name: string): StorageClass | undefined;
  candidates(claim: PersistentVolumeClaim): Iterable<PersistentVolume>;
}

export interface BinderSources {
  readonly claims: Pick<ResourceCache, 'follow'>;
  readonly volumes: Pick<ResourceCache, 'follow'>;
  /** Absent: there are no classes. */
  readonly classes?: Pick<ResourceCache, 'follow'>;
}

/** Keys to reconcile. */
export interface BinderListener {
  readonly onClaim: (key: string) => void;
  readonly onVolume: (name: string) => void;
}

const ofClass = (name: string): string => `class ${name}`;
const ofVolume = (name: string): string => `volume ${name}`;
const ofClaim = (key: string): string => `claim ${key}`;

export function followVolumes(
  { claims, volumes, classes }: BinderSources,
  names: BinderNames,
  { onClaim, onVolume }: BinderListener,
): BinderState {
  const knownClaims = createIndex<PersistentVolumeClaim>((claim) => [
    // Claims that are still unbound.
    ...(hasAnnotation(claim, names.bindCompleted) ? [] : [ofClass(classOf(claim, names))]),
    ...(claim.spec?.volumeName === undefined ? [] : [ofVolume(claim.spec.volumeName)]),
  ]);
  const knownVolumes = createIndex<PersistentVolume>((volume) => {
    const reference = volume.spec?.claimRef;
    return [reference === undefined ? ofClass(classOf(volume, names)) : ofClaim(claimKeyOf(reference))];
  });
  const knownClasses = new Map<string, StorageClass>();

  function onVolumeChange({ type, current }: CacheChange): void {
    const volume = typed<PersistentVolume>(current.object());
    const name = nameOf(volume);
    knownVolumes.set(name, type === 'DELETED' ? undefined : volume);
    onVolume(name);
    for (const key of knownClaims.of(ofVolume(name)).keys()) onClaim(key);
    const reference = volume.spec?.claimRef;
    if (reference !== undefined) onClaim(claimKeyOf(reference));
    else if (type !== 'DELETED') {
      for (const key of knownClaims.of(ofClass(classOf(volume, names))).keys()) onClaim(key);
    }
  }

  function onClaimChange({ type, current }: CacheChange): void {
    const claim = typed<PersistentVolumeClaim>(current.object());
    const key = keyOf(claim);
    knownClaims.set(key, type === 'DELETED' ? undefined : claim);
    onClaim(key);
    if (claim.spec?.volumeName !== undefined) onVolume(claim.spec.volumeName);
    for (const name of knownVolumes.of(ofClaim(key)).keys()) onVolume(name);
  }

  function onClassChange({ type, current }: CacheChange): void {
    if (type === 'DELETED') knownClasses.delete(current.name);
    else knownClasses.set(current.name, typed<StorageClass>(current.object()));
    for (const key of knownClaims.of(ofClass(current.name)).keys()) onClaim(key);
  }

  const following = [
    ...(classes === undefined ? [] : [classes.follow(onClassChange)]),
    volumes.follow(onVolumeChange),
    claims.follow(onClaimChange),
  ];
  return {
    claim: (key) => knownClaims.get(key),
    volume: (name) => knownVolumes.get(name),
    storageClass: (name) => knownClasses.get(name),
    *candidates(claim) {
      yield* knownVolumes.of(ofClaim(keyOf(claim))).values();
      yield* knownVolumes.of(ofClass(classOf(claim, names))).values();
    },
    close() {
      for (const each of following) each.close();
    },
  };
}
