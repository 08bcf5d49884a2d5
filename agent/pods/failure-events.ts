/** Events of failed pod operations. Volumes that cannot be mounted have events in upstream's form: one for each
 *  failed volume, and one for the pod when it has waited as long as upstream waits. Pure.
 *  Source: events of volume operations and of the volume manager, upstream 1.24. */

import type { Pod } from '#api/gen/core-v1.ts';
import { failureReason, VolumeTimeoutError } from '#volumes/errors/setup-error.ts';
import { VolumeError, type VolumeFailure } from '#volumes/errors/volume-error.ts';
import type { PodAction } from './decide/decision-types.ts';

/** Time that a pod waits for its volumes before the event of the pod, in ms. */
export const UPSTREAM_MOUNT_TIMEOUT_MS = 123_000;

interface WarningEvent {
  readonly reason: string;
  readonly message: string;
}

const ENDING: ReadonlySet<PodAction['kind']> = new Set([
  'stopSandbox',
  'killContainer',
  'removeContainer',
  'unmountVolumes',
  'removePod',
]);

/** Event reason of a failed operation. */
const FAILURE_REASONS: Readonly<Record<PodAction['kind'], string>> = {
  mountVolumes: 'FailedMount',
  unmountVolumes: 'FailedUnMount',
  createSandbox: 'FailedCreatePodSandBox',
  stopSandbox: 'FailedKillPod',
  startContainer: 'FailedSync',
  killContainer: 'FailedKillPod',
  removeContainer: 'FailedKillPod',
  finish: 'FailedSync',
  removePod: 'FailedKillPod',
};

export interface OperationFailure {
  readonly kind: PodAction['kind'];
  readonly error: Error;
  readonly pod: Pod;
  /** Whether no earlier attempt has failed. */
  readonly isFirst: boolean;
  /** Time since the pod started to wait for its volumes, or since the last event of the pod, in ms. */
  readonly waitedMs: number;
}

export function failureEvents({
  kind,
  error,
  pod,
  isFirst,
  waitedMs,
}: OperationFailure): readonly WarningEvent[] {
  if (error instanceof VolumeError && error.failures.length > 0) return mountEvents(error, pod, waitedMs);
  // Stops race with regular exits: only a repeated failure is worth an event.
  if (isFirst && ENDING.has(kind)) return [];
  const reason = error instanceof VolumeError ? error.reason : FAILURE_REASONS[kind];
  return [{ reason, message: error.message }];
}

function mountEvents(error: VolumeError, pod: Pod, waitedMs: number): readonly WarningEvent[] {
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
