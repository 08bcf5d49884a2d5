/** A persistent volume on its way to the node: attached by others, staged by its driver; and back.
 *  Source: csi.v1 NodeStageVolume; upstream's CSI attacher, release 1.24. */
import { mkdir, readFile } from 'node:fs/promises';
import type { CSIDriver, VolumeAttachmentSource } from '#api/schema/gen/storage-v1.ts';
import { isNotFound } from '#cri/errors.ts';
import type { Mounter } from '../mounter.ts';
import { VolumeSetupError } from '../setup-error.ts';
import type { SourceRequest, UndoServices } from '../sources/source.ts';
import type { StageFolder, StageRecord } from '../staging/contract.ts';
import { callDriver, secretsFor } from './call.ts';
import { AttachRefusedError, type CsiVolumes, type Driver } from './contract.ts';
import { type CsiVolume, capabilityOf, type Use } from './volume.ts';

/** A volume that is about to be staged. */
export interface Staging {
  readonly volume: CsiVolume;
  readonly driver: Driver;
  readonly object: CSIDriver | undefined;
  readonly csi: CsiVolumes;
  readonly use: Use;
  readonly source: VolumeAttachmentSource;
  readonly request: SourceRequest;
}

/** What was kept of a staged volume. */
type Kept = Readonly<
  Partial<
    Record<
      | 'driver'
      | 'volumeHandle'
      /** There may be an attachment: it was asked for, or there was one. */
      | 'attached'
      /** The driver may have staged it. */
      | 'staging'
      /** It has, in the run of the system of this ID. */
      | 'boot'
      /** Whether something was mounted then: some drivers mount nothing. */
      | 'mounted',
      string
    >
  >
>;

const YES = 'true';
/** Of `attached`: it was. */
const DONE = 'done';

/** Another one after each start of the system: what was staged before is not any longer. */
const bootID = async (): Promise<string> =>
  (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();

const isMountPoint = async (mounter: Mounter, path: string): Promise<boolean> =>
  (await mounter.list()).some(({ mountPoint }) => mountPoint === path);

/** Whether others have to attach the driver's volumes. Without its object, upstream expects it. */
const needsAttachment = (object: CSIDriver | undefined): boolean => object?.spec.attachRequired !== false;

/** Has the volume attached. @returns what its attacher has to say to the driver */
async function attach(
  { volume, object, csi, source, request }: Staging,
  folder: StageFolder,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  if (!needsAttachment(object)) return {};
  if (csi.attacher === undefined) {
    if (object === undefined) return {};
    throw new VolumeSetupError(
      `CSI driver ${volume.driver} wants its volumes attached (spec.attachRequired), which nobody does without an API server`,
    );
  }
  const before: Kept = folder.saved;
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
  const kept: Kept = folder.saved;
  if (kept.boot !== boot) return false;
  return kept.mounted !== YES || (await isMountPoint(request.services.mounter, folder.globalMount));
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
  const { boot: _boot, mounted: _mounted, ...kept }: Kept = folder.saved;
  await folder.save({ ...kept, staging: YES });
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
  await folder.save({ ...kept, staging: YES, boot, mounted: String(mounted) });
}

export interface Staged {
  readonly publishContext: Readonly<Record<string, string>>;
  /** Empty where the driver does not stage. */
  readonly stagingTargetPath: string;
}

/** Attaches and stages; what is so already stays as it is. */
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
  throw new VolumeSetupError('CSI drivers are not served');
}

/** Has the driver undo what it staged, while it is mounted: some find their device by its mount. */
export async function unstageVolume(
  { state }: StageRecord,
  folder: StageFolder,
  services: UndoServices,
  signal: AbortSignal,
): Promise<void> {
  const { driver: name, volumeHandle: volumeId = '', staging, ...kept }: Kept = state;
  if (name === undefined || staging === undefined) return;
  const driver = csiOf(services).drivers.get(name);
  const request = { volumeId, stagingTargetPath: folder.globalMount };
  await callDriver(driver, async (node) => {
    await node.nodeUnstageVolume(request, { signal }).catch((thrown: unknown) => {
      if (!isNotFound(thrown)) throw thrown;
    });
  });
  const { boot: _boot, mounted: _mounted, ...rest } = kept;
  await folder.save({ ...rest, driver: name, volumeHandle: volumeId });
}

/** Gives the attachment back, where it is this node's to give. */
export async function detachVolume(
  { state }: StageRecord,
  services: UndoServices,
  signal: AbortSignal,
): Promise<void> {
  const { driver, volumeHandle, attached }: Kept = state;
  if (driver === undefined || volumeHandle === undefined || attached === undefined) return;
  await csiOf(services).attacher?.detach({ driver, volumeHandle }, signal);
}
