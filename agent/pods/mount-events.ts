/** Events of a pod whose volumes cannot be mounted, in upstream's form: one for each failed volume, and one
 *  for the pod when it has waited as long as upstream waits. Pure.
 *  Source: events of volume operations and of the volume manager, upstream 1.24. */

import type { Pod } from '#api/gen/core-v1.ts';
import { failureReason, VolumeTimeoutError } from '#volumes/errors/setup-error.ts';
import type { VolumeError, VolumeFailure } from '#volumes/errors/volume-error.ts';

/** Time that a pod waits for its volumes before the event of the pod, in ms. */
export const UPSTREAM_MOUNT_TIMEOUT_MS = 123_000;

interface WarningEvent {
  readonly reason: string;
  readonly message: string;
}

/** @param waitedMs time since the pod started to wait, or since the last event of the pod */
export function mountEvents(error: VolumeError, pod: Pod, waitedMs: number): readonly WarningEvent[] {
  const ofVolumes = error.failures
    .filter((failure) => !(failure.error instanceof VolumeTimeoutError))
    .map(volumeEvent);
  return waitedMs < UPSTREAM_MOUNT_TIMEOUT_MS ? ofVolumes : [...ofVolumes, podEvent(error.volumes, pod)];
}

function volumeEvent({ name, error }: VolumeFailure): WarningEvent {
  const reason = failureReason(error);
  const operation = reason === 'FailedAttachVolume' ? 'AttachVolume.Attach' : 'MountVolume.SetUp';
  return { reason, message: `${operation} failed for volume "${name}" : ${error.message}` };
}

/** Upstream lists all volumes of the pod as unattached. */
function podEvent(unmounted: readonly string[], { spec }: Pod): WarningEvent {
  const all = (spec?.volumes ?? []).map(({ name }) => name);
  return {
    reason: 'FailedMount',
    message:
      `Unable to attach or mount volumes: unmounted volumes=[${unmounted.join(' ')}], ` +
      `unattached volumes=[${all.join(' ')}]: timed out waiting for the condition`,
  };
}
