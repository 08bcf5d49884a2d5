/** Publishing and unpublishing a volume for one pod through its driver. Source: csi.v1 NodePublishVolume;
 *  upstream's CSI mounter, 1.24. */
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { CSIDriver } from '#api/gen/storage-v1.ts';
import { isCriError, isNotFound } from '#cri/errors.ts';
import type { CsiVolumes, Driver } from '../contract/csi.ts';
import { type Expand, ExpansionRefusedError } from '../contract/expansion.ts';
import type { ReadyVolume, SourceRequest, UndoServices } from '../contract/source.ts';
import type { PublishRecord, UndoState } from '../contract/staging.ts';
import { setOwnership } from '../files/ownership.ts';
import type { MountInfo } from '../mount/mountinfo.ts';
import { podAttributes, tokenAttributes } from './attributes.ts';
import { callDriver, secretsFor } from './call.ts';
import type { Staged } from './stage.ts';
import { appliesGroup, type CsiVolume, capabilityOf, type Use } from './volume.ts';

/** Directory name in pods. */
export const CSI_DIR = 'csi';

const YES = 'true';

/** Returns the path at which the driver publishes the volume: for a raw device the file itself. */
export const targetOf = (dir: string, block: boolean): string => (block ? dir : join(dir, 'mount'));

export interface Publishing {
  readonly volume: CsiVolume;
  readonly object: CSIDriver | undefined;
  readonly csi: CsiVolumes;
  readonly use: Use;
  readonly readOnly: boolean;
  readonly target: string;
  readonly request: SourceRequest;
}

/** The newest mount first, since it covers the others. */
async function mountAt({ request, target }: Publishing): Promise<MountInfo | undefined> {
  return (await request.services.mounter.list()).findLast(({ mountPoint }) => mountPoint === target);
}

function ready(publishing: Publishing, mount: MountInfo | undefined, stagingTargetPath: string): ReadyVolume {
  const { readOnly, target, object, volume } = publishing;
  const labelled = [...(mount?.options ?? []), ...(mount?.superOptions ?? [])].includes('seclabel');
  return {
    hostPath: target,
    readOnly,
    seLinuxRelabel: labelled && !readOnly,
    changes: object?.spec.requiresRepublish === true,
    ...(volume.kind === 'persistent' ? { expand: expander(publishing, stagingTargetPath) } : {}),
  };
}

/** Returns the expansion of the volume on the node, if the driver supports that. */
function expander({ volume, csi, use, target }: Publishing, stagingTargetPath: string): Expand {
  return async ({ sizeBytes, signal }) => {
    const driver = csi.drivers.get(volume.driver);
    if (!driver.capabilities.has('EXPAND_VOLUME')) return;
    await callDriver(driver, async (node) => {
      const request = {
        volumeId: volume.handle,
        volumePath: target,
        capacityRange: { requiredBytes: BigInt(sizeBytes) },
        stagingTargetPath,
        volumeCapability: capabilityOf(volume, use, driver, csi.gates),
      };
      await node.nodeExpandVolume(request, { signal }).catch((cause: unknown) => {
        if (!isCriError(cause, 'FailedPrecondition')) throw cause;
        throw new ExpansionRefusedError(`CSI driver ${driver.name}: ${cause.message}`, { cause });
      });
    });
  };
}

/** Returns a volume set up by an earlier run if the driver need not be called again; otherwise undefined. */
export async function readyBefore(
  publishing: Publishing,
  saved: UndoState,
): Promise<ReadyVolume | undefined> {
  if (saved['ready'] === undefined || publishing.object?.spec.requiresRepublish === true) return undefined;
  const mount = await mountAt(publishing);
  return mount === undefined ? undefined : ready(publishing, mount, saved['staging'] ?? '');
}

async function attributesFor({ volume, object, csi, request }: Publishing): Promise<Record<string, string>> {
  const { accountToken, clock } = request.services;
  const { apiGroupDomain } = csi;
  return {
    ...volume.attributes,
    ...(object?.spec.podInfoOnMount === true
      ? podAttributes(request.pod, volume.kind, apiGroupDomain)
      : undefined),
    ...(await tokenAttributes(request.pod, object, { accountToken, apiGroupDomain, nowMs: clock.now() })),
  };
}

async function giveGroup(
  { volume, object, csi, use, readOnly, target, request }: Publishing,
  driver: Driver,
) {
  if (!appliesGroup(volume, { ...use, readOnly }, driver, { gates: csi.gates, object })) return;
  const group = { gid: use.fsGroup ?? 0, readOnly, onRootMismatch: request.fsGroupOnRootMismatch };
  await setOwnership(request.services.mounter.syscalls, target, group, request.signal);
}

export async function publishVolume(
  publishing: Publishing,
  driver: Driver,
  staged: Staged,
): Promise<ReadyVolume> {
  const { volume, csi, use, readOnly, target, request } = publishing;
  const [secrets, volumeContext] = await Promise.all([
    secretsFor(request, volume.publishSecret),
    attributesFor(publishing),
  ]);
  const { stagingTargetPath } = staged;
  const known = { driver: volume.driver, volumeHandle: volume.handle, staging: stagingTargetPath };
  const before = await mountAt(publishing);
  // A volume that is published again stays in use.
  if (before === undefined) await request.remember(known);
  await mkdir(dirname(target), { recursive: true, mode: 0o750 });
  await callDriver(driver, (node) =>
    node.nodePublishVolume(
      {
        volumeId: volume.handle,
        publishContext: staged.publishContext,
        stagingTargetPath,
        targetPath: target,
        volumeCapability: capabilityOf(volume, use, driver, csi.gates),
        readonly: readOnly,
        secrets,
        volumeContext,
      },
      { signal: request.signal },
    ),
  );
  await giveGroup(publishing, driver);
  await request.remember({ ...known, ready: YES });
  return ready(publishing, await mountAt(publishing), stagingTargetPath);
}

/** Unpublishes the volume of the pod through the driver. */
export async function unpublishVolume(
  { state, block = false }: PublishRecord,
  dir: string,
  { csi }: UndoServices,
  signal: AbortSignal,
): Promise<void> {
  const { driver: name, volumeHandle: volumeId = '' } = state;
  if (name === undefined || csi === undefined) return;
  const driver = csi.drivers.get(name);
  await callDriver(driver, async (node) => {
    const request = { volumeId, targetPath: targetOf(dir, block) };
    await node.nodeUnpublishVolume(request, { signal }).catch((thrown: unknown) => {
      if (!isNotFound(thrown)) throw thrown;
    });
  });
}
