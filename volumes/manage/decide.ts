/** Operations derived from desired and actual volumes. Pure. */
import type { Pod, Volume } from '#api/gen/core-v1.ts';
import type { MountedVolume } from '../contract/volume-manager.ts';

/** One volume that a container of the pod uses. */
export interface DesiredVolume {
  readonly name: string;
  /** Undefined if the pod does not define the volume that a container uses. */
  readonly volume: Volume | undefined;
  /** Used through volumeDevices: a raw device, not a file system. */
  readonly block: boolean;
  /** Used through volumeMounts. */
  readonly mounted: boolean;
}

/** A volume set up by this process; volumes from before a restart are not actual until they are set up
 *  again. */
export interface ActualVolume {
  readonly mounted: MountedVolume;
  /** Its content can change while it is mounted. */
  readonly changes: boolean;
  /** Periodic maintenance while the pod has the volume. */
  readonly maintain?: (signal: AbortSignal) => Promise<void>;
}

export type VolumeOperation =
  | { readonly kind: 'setUp'; readonly desired: DesiredVolume }
  | { readonly kind: 'refresh'; readonly desired: DesiredVolume };

/** Returns every volume that a container uses, in the pod's order, followed by undefined ones. */
export function desiredVolumes(pod: Pod): readonly DesiredVolume[] {
  const { spec } = pod;
  if (spec === undefined) return [];
  const containers = [
    ...(spec.initContainers ?? []),
    ...spec.containers,
    ...(spec.ephemeralContainers ?? []),
  ];
  const files = new Set(
    containers.flatMap((container) => container.volumeMounts ?? []).map(({ name }) => name),
  );
  const devices = new Set(
    containers.flatMap((container) => container.volumeDevices ?? []).map(({ name }) => name),
  );
  const defined = new Map((spec.volumes ?? []).map((volume) => [volume.name, volume]));
  const used = new Set([...files, ...devices]);
  const names = new Set([...[...defined.keys()].filter((name) => used.has(name)), ...used]);
  return [...names].map((name) => ({
    name,
    volume: defined.get(name),
    block: devices.has(name),
    mounted: files.has(name),
  }));
}

/** Returns the operations required before the pod's containers can start. */
export function decideSetUp(
  desired: readonly DesiredVolume[],
  actual: ReadonlyMap<string, ActualVolume>,
): readonly VolumeOperation[] {
  return desired
    .filter(({ name }) => !actual.has(name))
    .map((volume) => ({ kind: 'setUp', desired: volume }));
}

/** Returns the volumes to refresh while the pod runs: those that are set up and whose content may change. */
export function decideRefresh(
  desired: readonly DesiredVolume[],
  actual: ReadonlyMap<string, ActualVolume>,
): readonly VolumeOperation[] {
  return desired
    .filter(({ name }) => actual.get(name)?.changes === true)
    .map((volume) => ({ kind: 'refresh', desired: volume }));
}
