/** Usage and health of volumes as reported by their drivers. Source: csi.v1 NodeGetVolumeStats. */
import { basename, dirname } from 'node:path';
import type { NodeGetVolumeStatsResponse } from '#cri/gen/csi-v1.ts';
import type { CsiVolumes } from '../contract/csi.ts';
import type { PublishRecord } from '../contract/staging.ts';
import { publishRecordFile } from '../files/layout.ts';
import { createRecordFiles } from '../staging/record-files.ts';
import { parsePublishRecord } from '../staging/records.ts';
import type { MeasureVolume, VolumeFigures } from '../usage/contract.ts';
import { callDriver } from './call.ts';
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

/** Returns the driver's statistics of a pod's volume. The signal of the caller sets the timeout.
 *  Undefined if the driver reports no statistics.
 *  @param record of the pod's volume, of source `csi`
 *  @param dir the volume's directory in the pod's directory; for a raw device its file
 *  @throws VolumeSetupError when the driver is missing or returns an error; the signal's reason */
async function csiVolumeStats(
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
  const response = await callDriver(driver, (node) => node.nodeGetVolumeStats(request, { signal }));
  const { volumeCondition: condition } = response;
  const reportsCondition = driver.capabilities.has('VOLUME_CONDITION') && gates.has('CSIVolumeHealth');
  return { ...figuresOf(response), ...(reportsCondition && condition !== undefined ? { condition } : {}) };
}

/** Creates the usage measurement of csi volumes; other volumes are ignored. */
export function createCsiMeasure(rootDir: string, csi: Pick<CsiVolumes, 'drivers' | 'gates'>): MeasureVolume {
  const files = createRecordFiles();
  return async ({ podUID, volumeName, path }, signal) => {
    if (!basename(dirname(path)).endsWith(`~${CSI_DIR}`)) return undefined;
    const text = await files.read(publishRecordFile(rootDir, podUID, volumeName));
    return text === undefined ? undefined : csiVolumeStats(parsePublishRecord(text), path, csi, signal);
  };
}
