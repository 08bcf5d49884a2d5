/** CSI volumes in pods and PersistentVolumes. Pure. Source: upstream's CSI plugin, release 1.24. */
import { createHash } from 'node:crypto';
import type { PersistentVolumeSpec } from '#api/gen/core-v1.ts';
import type { CSIDriver } from '#api/gen/storage-v1.ts';
import type { VolumeCapability, VolumeCapabilityAccessModeMode } from '#cri/gen/csi-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import type { Driver } from '../contract/csi.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import type { SecretRef } from '../objects/secret-ref.ts';

export type AccessMode = NonNullable<PersistentVolumeSpec['accessModes']>[number];

/** A CSI volume, independent of where it is specified. */
export interface CsiVolume {
  /** Ephemeral: inline in one pod; never attached or staged. */
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

/** Returns the handle of an inline volume. */
export const ephemeralHandle = (podUID: string, volumeName: string): string =>
  `csi-${createHash('sha256').update(`${podUID}${volumeName}`).digest('hex')}`;

const PLAIN_MODES: Readonly<Record<AccessMode, VolumeCapabilityAccessModeMode>> = {
  ReadWriteOnce: 'SINGLE_NODE_WRITER',
  ReadWriteOncePod: 'SINGLE_NODE_WRITER',
  ReadOnlyMany: 'MULTI_NODE_READER_ONLY',
  ReadWriteMany: 'MULTI_NODE_MULTI_WRITER',
};

/** For drivers that distinguish single-pod from multi-pod access on a node. */
const EXACT_MODES: typeof PLAIN_MODES = {
  ...PLAIN_MODES,
  ReadWriteOnce: 'SINGLE_NODE_MULTI_WRITER',
  ReadWriteOncePod: 'SINGLE_NODE_SINGLE_WRITER',
};

export interface Use {
  readonly block: boolean;
  readonly fsGroup: number | undefined;
}

/** Reports whether the driver itself applies the group to the files. */
const delegatesGroup = (
  { capabilities }: Pick<Driver, 'capabilities'>,
  gates: ReadonlySet<string>,
): boolean => capabilities.has('VOLUME_MOUNT_GROUP') && gates.has('DelegateFSGroupToCSIDriver');

/** Returns the volume capability for the driver. */
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

/** Reports whether the node applies the pod's group to the files. */
export function appliesGroup(
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

/** Checks that the driver supports this kind of volume. @throws VolumeSetupError */
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
