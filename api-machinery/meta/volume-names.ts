/** Names that both sides of attaching have to agree on: those of volumes on a node's status, and those of the objects
 *  that ask for an attachment. Pure. Source: upstream's volume plugins (`GetVolumeName`, `getAttachmentName`), 1.24. */
import { createHash } from 'node:crypto';
import type { PersistentVolumeSpec, Volume } from '../schema/gen/core-v1.ts';

/** A list as upstream's names have it: `[a b]`. */
const listed = (items: readonly string[]): string => `[${items.join(' ')}]`;

/** Sources that are attached to nodes before they are mounted, whether a pod or a persistent volume names them. */
export type AttachableSource = Pick<Volume, 'iscsi' | 'fc' | 'rbd'> &
  Pick<PersistentVolumeSpec, 'iscsi' | 'fc' | 'rbd' | 'csi'>;

/** A CSI volume of a driver, as nodes tell that it is attached or in use. `domain`: of the vocabulary. */
export const csiVolumeName = (domain: string, driver: string, handle: string): string =>
  `${domain}/csi/${driver}^${handle}`;

/** The driver and the handle that a name of `csiVolumeName` was made of; `undefined`: it is no such name. */
export function parseCsiVolumeName(
  domain: string,
  name: string,
): { readonly driver: string; readonly handle: string } | undefined {
  const prefix = `${domain}/csi/`;
  const split = name.indexOf('^');
  if (!name.startsWith(prefix) || split < prefix.length) return undefined;
  return { driver: name.slice(prefix.length, split), handle: name.slice(split + 1) };
}

/** The name by which `node.status.volumesAttached` and `volumesInUse` have the volume; `undefined`: its source is not
 *  attached, or lacks what names it. */
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

/** Name of the VolumeAttachment of a CSI volume on a node. */
export const attachmentName = (driver: string, handle: string, nodeName: string): string =>
  `csi-${createHash('sha256').update(`${handle}${driver}${nodeName}`).digest('hex')}`;
