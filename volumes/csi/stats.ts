/** What drivers say of the use and the health of their volumes. Source: csi.v1 NodeGetVolumeStats. */
import { basename, dirname } from 'node:path';
import type { NodeGetVolumeStatsResponse } from '#cri/gen/csi-v1.ts';
import { publishRecordFile } from '../layout.ts';
import type { PublishRecord } from '../staging/contract.ts';
import { createRecordFiles } from '../staging/record-files.ts';
import { parsePublishRecord } from '../staging/records.ts';
import type { MeasureVolume, VolumeFigures } from '../usage/contract.ts';
import { callDriver } from './call.ts';
import type { CsiVolumes } from './contract.ts';
import { CSI_DIR, targetOf } from './publish.ts';

function figuresOf({ usage }: NodeGetVolumeStatsResponse): VolumeFigures {
  const bytes = usage.find(({ unit }) => unit === 'BYTES');
  const inodes = usage.find(({ unit }) => unit === 'INODES');
  return {
    ...(bytes && {
      capacityBytes: Number(bytes.total),
      availableBytes: Number(bytes.available),
      usedBytes: Number(bytes.used),
    }),
    ...(inodes && {
      inodes: Number(inodes.total),
      inodesFree: Number(inodes.available),
      inodesUsed: Number(inodes.used),
    }),
  };
}

/** What the driver says of a pod's volume, until the signal fires: how long that may take is the matter of whoever asks.
 *  Undefined where it says nothing of its volumes.
 *  @param record of the pod's volume, of source `csi`
 *  @param dir the volume's directory in the pod's folder; for a raw device its file
 *  @throws VolumeSetupError when the driver is not there or refuses; the signal's reason */
export async function csiVolumeStats(
  { state, block = false }: PublishRecord,
  dir: string,
  { drivers, gates }: Pick<CsiVolumes, 'drivers' | 'gates'>,
  signal: AbortSignal,
): Promise<VolumeFigures | undefined> {
  const { driver: name, volumeHandle: volumeId = '', staging: stagingTargetPath = '' } = state;
  if (name === undefined) return undefined;
  const driver = drivers.get(name);
  if (!driver.capabilities.has('GET_VOLUME_STATS')) return undefined;
  const request = { volumeId, volumePath: targetOf(dir, block), stagingTargetPath };
  const answer = await callDriver(driver, (node) => node.nodeGetVolumeStats(request, { signal }));
  const { volumeCondition: condition } = answer;
  const tells = driver.capabilities.has('VOLUME_CONDITION') && gates.has('CSIVolumeHealth');
  return { ...figuresOf(answer), ...(tells && condition !== undefined ? { condition } : {}) };
}

/** Asks the drivers of csi volumes, and nobody of others. */
export function createCsiMeasure(rootDir: string, csi: Pick<CsiVolumes, 'drivers' | 'gates'>): MeasureVolume {
  const files = createRecordFiles();
  return async ({ podUID, volumeName, path }, signal) => {
    if (!basename(dirname(path)).endsWith(`~${CSI_DIR}`)) return undefined;
    const text = await files.read(publishRecordFile(rootDir, podUID, volumeName));
    return text === undefined ? undefined : csiVolumeStats(parsePublishRecord(text), path, csi, signal);
  };
}
