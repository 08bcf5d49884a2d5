/** Staging of a persistent volume on the node: attached by its attacher, staged by its driver; and the
 *  reverse.
 *  Source: csi.v1 NodeStageVolume; upstream's CSI attacher, release 1.24. */
import { mkdir, readFile } from 'node:fs/promises';
import type { CSIDriver, VolumeAttachmentSource } from '#api/gen/storage-v1.ts';
import { isNotFound } from '#cri/errors.ts';
import { AttachRefusedError, type CsiVolumes, type Driver } from '../contract/csi.ts';
import type { SourceRequest, UndoServices } from '../contract/source.ts';
import type { StageFolder, StageRecord } from '../contract/staging.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import type { Mounter } from '../mount/mounter.ts';
import { callDriver, secretsFor } from './call.ts';
import { type CsiVolume, capabilityOf, type Use } from './volume.ts';

/** A volume to be staged. */
export interface Staging {
  readonly volume: CsiVolume;
  readonly driver: Driver;
  readonly object: CSIDriver | undefined;
  readonly csi: CsiVolumes;
  readonly use: Use;
  readonly source: VolumeAttachmentSource;
  readonly request: SourceRequest;
}

/** Persisted state of a staged volume. */
type SavedState = Readonly<
  Partial<
    Record<
      | 'driver'
      | 'volumeHandle'
      /** An attachment may exist: it was requested, or existed before. */
      | 'attached'
      /** The driver may have staged the volume. */
      | 'staging'
      /** The driver has staged the volume during the boot with this ID. */
      | 'boot'
      /** Whether something was mounted after staging: some drivers mount nothing. */
      | 'mounted',
      string
    >
  >
>;

const YES = 'true';
/** Value of `attached` for a completed attachment. */
const DONE = 'done';

/** Changes with each boot: volumes staged before are no longer staged. */
const bootID = async (): Promise<string> =>
  (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();

const isMountPoint = async (mounter: Mounter, path: string): Promise<boolean> =>
  (await mounter.list()).some(({ mountPoint }) => mountPoint === path);

/** Reports whether the driver's volumes need attachment. Without a CSIDriver object, upstream expects it. */
const needsAttachment = (object: CSIDriver | undefined): boolean => object?.spec.attachRequired !== false;

/** Attaches the volume. @returns the publish context of its attacher */
async function attach(
  { volume, object, csi, source, request }: Staging,
  folder: StageFolder,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  if (!needsAttachment(object)) return {};
  if (csi.attacher === undefined) {
    if (object === undefined) return {};
    throw new VolumeSetupError(
      `CSI driver ${volume.driver} requires attachment (spec.attachRequired), which needs an API server`,
    );
  }
  const before: SavedState = folder.saved;
  if (before.attached === undefined) await folder.save({ ...before, attached: YES });
  const { driver, handle: volumeHandle } = volume;
  try {
    const publishContext = await csi.attacher.attach({ driver, volumeHandle, source }, signal);
    if (before.attached === DONE) return publishContext;
    csi.attacher.attached?.(request.pod, request.persistentVolume?.metadata?.name ?? request.volumeName);
    await folder.save({ ...before, attached: DONE });
    return publishContext;
  } catch (thrown) {
    if (thrown instanceof AttachRefusedError && before.attached === undefined) await folder.save(before);
    throw thrown;
  }
}

async function isStaged({ request }: Staging, folder: StageFolder, boot: string): Promise<boolean> {
  const saved: SavedState = folder.saved;
  if (saved.boot !== boot) return false;
  return saved.mounted !== YES || (await isMountPoint(request.services.mounter, folder.globalMount));
}

async function stageOnce(
  staging: Staging,
  folder: StageFolder,
  publishContext: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<void> {
  const { volume, driver, use, csi, request } = staging;
  const boot = await bootID();
  if (await isStaged(staging, folder, boot)) return;
  const secrets = await secretsFor(request, volume.stageSecret);
  const { boot: _boot, mounted: _mounted, ...saved }: SavedState = folder.saved;
  await folder.save({ ...saved, staging: YES });
  await mkdir(folder.globalMount, { recursive: true, mode: 0o750 });
  await callDriver(driver, (node) =>
    node.nodeStageVolume(
      {
        volumeId: volume.handle,
        publishContext,
        stagingTargetPath: folder.globalMount,
        volumeCapability: capabilityOf(volume, use, driver, csi.gates),
        secrets,
        volumeContext: volume.attributes,
      },
      { signal },
    ),
  );
  const mounted = await isMountPoint(request.services.mounter, folder.globalMount);
  await folder.save({ ...saved, staging: YES, boot, mounted: String(mounted) });
}

export interface Staged {
  readonly publishContext: Readonly<Record<string, string>>;
  /** Empty if the driver does not stage volumes. */
  readonly stagingTargetPath: string;
}

/** Attaches and stages the volume. Idempotent. */
export async function stageVolume(
  staging: Staging,
  folder: StageFolder,
  signal: AbortSignal,
): Promise<Staged> {
  const { volume, driver } = staging;
  const { driver: name, handle: volumeHandle } = volume;
  if (folder.saved['driver'] === undefined) await folder.save({ driver: name, volumeHandle });
  const publishContext = await attach(staging, folder, signal);
  if (!driver.capabilities.has('STAGE_UNSTAGE_VOLUME')) return { publishContext, stagingTargetPath: '' };
  await stageOnce(staging, folder, publishContext, signal);
  return { publishContext, stagingTargetPath: folder.globalMount };
}

function csiOf({ csi }: UndoServices): CsiVolumes {
  if (csi !== undefined) return csi;
  throw new VolumeSetupError('this agent does not support CSI drivers');
}

/** Unstages the volume through the driver while it is mounted: some drivers find their device by its
 *  mount. */
export async function unstageVolume(
  { state }: StageRecord,
  folder: StageFolder,
  services: UndoServices,
  signal: AbortSignal,
): Promise<void> {
  const { driver: name, volumeHandle: volumeId = '', staging, ...saved }: SavedState = state;
  if (name === undefined || staging === undefined) return;
  const driver = csiOf(services).drivers.get(name);
  const request = { volumeId, stagingTargetPath: folder.globalMount };
  await callDriver(driver, async (node) => {
    await node.nodeUnstageVolume(request, { signal }).catch((thrown: unknown) => {
      if (!isNotFound(thrown)) throw thrown;
    });
  });
  const { boot: _boot, mounted: _mounted, ...rest } = saved;
  await folder.save({ ...rest, driver: name, volumeHandle: volumeId });
}

/** Deletes the attachment if this node owns it. */
export async function detachVolume(
  { state }: StageRecord,
  services: UndoServices,
  signal: AbortSignal,
): Promise<void> {
  const { driver, volumeHandle, attached }: SavedState = state;
  if (driver === undefined || volumeHandle === undefined || attached === undefined) return;
  await csiOf(services).attacher?.detach({ driver, volumeHandle }, signal);
}
