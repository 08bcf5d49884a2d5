/** CSI volumes as pods and PersistentVolumes name them. Pure. Source: upstream's CSI plugin, release 1.24. */
import { createHash } from 'node:crypto';
import type { PersistentVolumeSpec } from '#api/schema/gen/core-v1.ts';
import type { CSIDriver } from '#api/schema/gen/storage-v1.ts';
import type { VolumeCapability, VolumeCapabilityAccessModeMode } from '#cri/gen/csi-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import { VolumeSetupError } from '../setup-error.ts';
import type { SecretRef } from '../sources/secret-ref.ts';
import type { Driver } from './contract.ts';

export type AccessMode = NonNullable<PersistentVolumeSpec['accessModes']>[number];

/** What a volume comes to, wherever it is named. */
export interface CsiVolume {
  /** Ephemeral: of one pod, which names it itself; never attached or staged. */
  readonly kind: 'persistent' | 'ephemeral';
  readonly driver: string;
  readonly handle: string;
  readonly fsType: string;
  readonly readOnly: boolean;
  readonly attributes: Readonly<Record<string, string>>;
  readonly accessModes: readonly AccessMode[];
  readonly mountOptions: readonly string[];
  readonly stageSecret?: SecretRef;
  readonly publishSecret?: SecretRef;
}

/** Handle of a volume that a pod names itself. */
export const ephemeralHandle = (podUID: string, volumeName: string): string =>
  `csi-${createHash('sha256').update(`${podUID}${volumeName}`).digest('hex')}`;

const PLAIN_MODES: Readonly<Record<AccessMode, VolumeCapabilityAccessModeMode>> = {
  ReadWriteOnce: 'SINGLE_NODE_WRITER',
  ReadWriteOncePod: 'SINGLE_NODE_WRITER',
  ReadOnlyMany: 'MULTI_NODE_READER_ONLY',
  ReadWriteMany: 'MULTI_NODE_MULTI_WRITER',
};

/** For drivers that tell one pod from several on a node. */
const EXACT_MODES: typeof PLAIN_MODES = {
  ...PLAIN_MODES,
  ReadWriteOnce: 'SINGLE_NODE_MULTI_WRITER',
  ReadWriteOncePod: 'SINGLE_NODE_SINGLE_WRITER',
};

export interface Use {
  readonly block: boolean;
  readonly fsGroup: number | undefined;
}

/** Whether the driver itself sees to the group of the files. */
export const delegatesGroup = (
  { capabilities }: Pick<Driver, 'capabilities'>,
  gates: ReadonlySet<string>,
): boolean => capabilities.has('VOLUME_MOUNT_GROUP') && gates.has('DelegateFSGroupToCSIDriver');

/** What the driver is told of how the volume is used. */
export function capabilityOf(
  volume: CsiVolume,
  use: Use,
  driver: Pick<Driver, 'capabilities'>,
  gates: ReadonlySet<string>,
): MessageInput<VolumeCapability> {
  const modes = driver.capabilities.has('SINGLE_NODE_MULTI_WRITER') ? EXACT_MODES : PLAIN_MODES;
  const accessMode = { mode: modes[volume.accessModes[0] ?? 'ReadWriteOnce'] };
  if (use.block) return { block: {}, accessMode };
  const group = use.fsGroup !== undefined && delegatesGroup(driver, gates) ? String(use.fsGroup) : '';
  return {
    mount: { fsType: volume.fsType, mountFlags: volume.mountOptions, volumeMountGroup: group },
    accessMode,
  };
}

/** Whether the node gives the files to the pod's group. */
export function givesGroup(
  volume: CsiVolume,
  use: Use & { readonly readOnly: boolean },
  driver: Pick<Driver, 'capabilities'>,
  rules: { readonly gates: ReadonlySet<string>; readonly object: CSIDriver | undefined },
): boolean {
  if (use.block || use.readOnly || use.fsGroup === undefined) return false;
  if (delegatesGroup(driver, rules.gates)) return false;
  const policy = rules.object?.spec.fsGroupPolicy ?? 'ReadWriteOnceWithFSType';
  if (policy === 'None') return false;
  if (policy === 'File') return true;
  if (volume.fsType === '') return false;
  const single = volume.accessModes.some((mode) => mode === 'ReadWriteOnce' || mode === 'ReadWriteOncePod');
  return volume.kind === 'ephemeral' || single;
}

/** A driver says for which kind of volumes it is. @throws VolumeSetupError */
export function checkLifecycle({ kind, driver }: CsiVolume, object: CSIDriver | undefined): void {
  const mode = kind === 'ephemeral' ? 'Ephemeral' : 'Persistent';
  if (object === undefined) {
    if (kind === 'persistent') return;
    throw new VolumeSetupError(
      `volume mode "Ephemeral" not supported by driver ${driver} (no CSIDriver object)`,
    );
  }
  const { volumeLifecycleModes = [] } = object.spec;
  const modes = volumeLifecycleModes.length === 0 ? ['Persistent'] : volumeLifecycleModes;
  if (modes.includes(mode)) return;
  throw new VolumeSetupError(
    `volume mode "${mode}" not supported by driver ${driver} (only supports ${modes.join(', ')})`,
  );
}
