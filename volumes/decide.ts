/** Desired volumes against actual ones, to operations. Pure. */
import type { Pod, Volume } from '#api/schema/gen/core-v1.ts';
import type { MountedVolume } from './types.ts';

/** One volume that a container of the pod uses. */
export interface DesiredVolume {
  readonly name: string;
  /** Undefined when a container names a volume that the pod doesn't define. */
  readonly volume: Volume | undefined;
  /** Used through volumeDevices: a raw device, not a file system. */
  readonly block: boolean;
  /** Used through volumeMounts. */
  readonly mounted: boolean;
}

/** A volume that was made ready by this process; one from before a restart is not actual until it is set up again. */
export interface ActualVolume {
  readonly mounted: MountedVolume;
  /** Its content can change while it is mounted. */
  readonly changes: boolean;
  /** Looks after it, once in a while as long as the pod has it. */
  readonly look?: (signal: AbortSignal) => Promise<void>;
}

export type VolumeOperation =
  | { readonly kind: 'setUp'; readonly desired: DesiredVolume }
  | { readonly kind: 'refresh'; readonly desired: DesiredVolume };

/** Every volume that any container of the pod uses, in the pod's order, then those that don't exist. */
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

/** What has to be done before the pod's containers can start. */
export function decideSetUp(
  desired: readonly DesiredVolume[],
  actual: ReadonlyMap<string, ActualVolume>,
): readonly VolumeOperation[] {
  return desired
    .filter(({ name }) => !actual.has(name))
    .map((volume) => ({ kind: 'setUp', desired: volume }));
}

/** What has to be looked at again while the pod runs: volumes that were made ready and whose content may change. */
export function decideRefresh(
  desired: readonly DesiredVolume[],
  actual: ReadonlyMap<string, ActualVolume>,
): readonly VolumeOperation[] {
  return desired
    .filter(({ name }) => actual.get(name)?.changes === true)
    .map((volume) => ({ kind: 'refresh', desired: volume }));
}
