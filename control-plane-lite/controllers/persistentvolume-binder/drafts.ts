/** Changes of claims and volumes when they are bound, lost and released. Changes the drafts and reads nothing
 *  else. */
import type { PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { membersOf, typed } from '../../resources/view.ts';
import { type BinderNames, isForClaim, nameOf } from './model.ts';

export function setAnnotation(draft: ApiObject, name: string, value: string): void {
  draft.metadata.annotations = { ...draft.metadata.annotations, [name]: value };
}

/** Pre-binds the volume to the claim. Reports whether it changed. */
export function preBindVolume(draft: ApiObject, claim: PersistentVolumeClaim, names: BinderNames): boolean {
  const volume = typed<PersistentVolume>(draft);
  const isPreBound = isForClaim(volume, claim);
  const { name, namespace, uid, resourceVersion } = claim.metadata ?? {};
  if (isPreBound && volume.spec?.claimRef?.uid === uid) return false;
  membersOf(draft, 'spec')['claimRef'] = {
    kind: 'PersistentVolumeClaim',
    namespace,
    name,
    uid,
    apiVersion: 'v1',
    resourceVersion,
  };
  // A volume that a user pre-bound to the claim stays pre-bound when the claim gets another one.
  if (!isPreBound) setAnnotation(draft, names.boundByController, 'yes');
  return true;
}

/** Reverts the controller's changes; a user's choice stays. */
export function freeVolume(draft: ApiObject, names: BinderNames): void {
  const spec = membersOf(draft, 'spec');
  const { annotations } = draft.metadata;
  if (annotations?.[names.boundByController] === undefined) {
    delete membersOf(spec, 'claimRef')['uid'];
    return;
  }
  delete spec['claimRef'];
  const { [names.boundByController]: _, ...rest } = annotations;
  if (Object.keys(rest).length > 0) draft.metadata.annotations = rest;
  else delete draft.metadata.annotations;
}

/** Sets the claim's volume. Reports whether it changed. */
export function bindClaim(draft: ApiObject, volume: PersistentVolume, names: BinderNames): boolean {
  const { spec, metadata } = typed<PersistentVolumeClaim>(draft);
  const isNamed = spec?.volumeName === nameOf(volume);
  const isCompleted = metadata?.annotations?.[names.bindCompleted] !== undefined;
  if (!isNamed) {
    membersOf(draft, 'spec')['volumeName'] = nameOf(volume);
    setAnnotation(draft, names.boundByController, 'yes');
  }
  if (!isCompleted) setAnnotation(draft, names.bindCompleted, 'yes');
  return !isNamed || !isCompleted;
}

/** Sets the claim's phase: `Bound` with the properties of its volume. Reports whether it changed. */
export function setClaimPhase(
  draft: ApiObject,
  phase: 'Bound' | 'Lost' | 'Pending',
  volume?: PersistentVolume,
): boolean {
  const before = typed<PersistentVolumeClaim>(draft).status ?? {};
  const status = membersOf(draft, 'status');
  if (volume === undefined) {
    if (before.phase === phase && before.accessModes === undefined && before.capacity === undefined)
      return false;
    delete status['accessModes'];
    delete status['capacity'];
    status['phase'] = phase;
    return true;
  }
  const modes = volume.spec?.accessModes ?? [];
  const sameModes = modes.join() === (before.accessModes ?? []).join();
  if (before.phase === phase && sameModes) return false;
  status['accessModes'] = [...modes];
  // The capacity of a bound claim is that of the file system, which may be expanded after the volume.
  if (before.phase !== phase) {
    status['capacity'] = { ...before.capacity, storage: volume.spec?.capacity?.['storage'] ?? '0' };
  }
  status['phase'] = phase;
  return true;
}

/** Reports whether it changed. */
export function setVolumePhase(draft: ApiObject, phase: string, message: string): boolean {
  const { status: before } = typed<PersistentVolume>(draft);
  if (before?.phase === phase) return false;
  const status = membersOf(draft, 'status');
  status['phase'] = phase;
  if (message === '') delete status['message'];
  else status['message'] = message;
  return true;
}
