/** Names shared by both sides of volume attachment: those of volumes in a node's status, and those of
 *  VolumeAttachment objects. Pure. Source: upstream's volume plugins (`GetVolumeName`,
 *  `getAttachmentName`), 1.24. */
import { createHash } from 'node:crypto';
import type { PersistentVolumeSpec, Volume } from '../gen/core-v1.ts';

/** Formats a list as in upstream's names: `[a b]`. */
const listed = (items: readonly string[]): string => `[${items.join(' ')}]`;

/** Sources that are attached to nodes before they are mounted, in pods or persistent volumes. */
export type AttachableSource = Pick<Volume, 'iscsi' | 'fc' | 'rbd'> &
  Pick<PersistentVolumeSpec, 'iscsi' | 'fc' | 'rbd' | 'csi'>;

/** Returns the name of a driver's CSI volume in volumesAttached and volumesInUse. `domain`: of the
 *  vocabulary. */
export const csiVolumeName = (domain: string, driver: string, handle: string): string =>
  `${domain}/csi/${driver}^${handle}`;

/** Returns the driver and the handle in a name of `csiVolumeName`; `undefined` for other names. */
export function parseCsiVolumeName(
  domain: string,
  name: string,
): { readonly driver: string; readonly handle: string } | undefined {
  const prefix = `${domain}/csi/`;
  const split = name.indexOf('^');
  if (!name.startsWith(prefix) || split < prefix.length) return undefined;
  return { driver: name.slice(prefix.length, split), handle: name.slice(split + 1) };
}

/** Returns the volume's name in `node.status.volumesAttached` and `volumesInUse`; `undefined` if its
 *  source is not attachable, or lacks its identifier. */
export function attachableVolumeName(domain: string, source: AttachableSource): string | undefined {
  const { csi, iscsi, fc, rbd } = source;
  if (csi !== undefined) return csiVolumeName(domain, csi.driver, csi.volumeHandle);
  if (iscsi !== undefined) return `${domain}/iscsi/${iscsi.targetPortal}:${iscsi.iqn}:${iscsi.lun}`;
  if (rbd !== undefined) return `${domain}/rbd/${listed(rbd.monitors)}:${rbd.image}`;
  if (fc === undefined) return undefined;
  const { targetWWNs = [], lun, wwids = [] } = fc;
  if (targetWWNs.length > 0 && lun !== undefined) return `${domain}/fc/${listed(targetWWNs)}:${lun}`;
  return wwids.length > 0 ? `${domain}/fc/${listed(wwids)}` : undefined;
}

/** Returns the name of the VolumeAttachment of a CSI volume on a node. */
export const attachmentName = (driver: string, handle: string, nodeName: string): string =>
  `csi-${createHash('sha256').update(`${handle}${driver}${nodeName}`).digest('hex')}`;
