/** Table of the volume sources that this agent supports. */
import type { Volume } from '#api/gen/core-v1.ts';
import { type SetUp, type SourcePlugin } from '../contract/source.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { awsElasticBlockStore } from './aws-elastic-block-store.ts';
import { azureDisk } from './azure-disk.ts';
import { azureFile } from './azure-file.ts';
import { bindFrom } from './bind-source.ts';
import { cephfs } from './cephfs.ts';
import { cinder } from './cinder.ts';
import { configMap } from './config-map.ts';
import { csi, migratable } from './csi.ts';
import { downwardAPI } from './downward-api.ts';
import { emptyDir } from './empty-dir.ts';
import { createEphemeral } from './ephemeral.ts';
import { fc } from './fc.ts';
import { flexVolume } from './flex-volume.ts';
import { flocker } from './flocker.ts';
import { gcePersistentDisk } from './gce-persistent-disk.ts';
import { gitRepo } from './git-repo.ts';
import { glusterfs } from './glusterfs.ts';
import { hostPath } from './host-path.ts';
import { iscsi } from './iscsi.ts';
import { local } from './local.ts';
import { nfs } from './nfs.ts';
import { createPersistentVolumeClaim } from './persistent-volume-claim.ts';
import { photonPersistentDisk } from './photon-persistent-disk.ts';
import { portworxVolume } from './portworx-volume.ts';
import { projected } from './projected.ts';
import { quobyte } from './quobyte.ts';
import { rbd } from './rbd.ts';
import { scaleIO } from './scale-io.ts';
import { secret } from './secret.ts';
import { storageos } from './storageos.ts';
import { vsphereVolume } from './vsphere-volume.ts';

/** Sources of PersistentVolumes. */
export const PERSISTENT_SOURCES: readonly SourcePlugin[] = [
  migratable(awsElasticBlockStore),
  migratable(azureDisk),
  migratable(azureFile),
  cephfs,
  migratable(cinder),
  csi,
  fc,
  flexVolume,
  flocker,
  migratable(gcePersistentDisk),
  glusterfs,
  hostPath,
  iscsi,
  local,
  nfs,
  photonPersistentDisk,
  migratable(portworxVolume),
  quobyte,
  migratable(rbd),
  scaleIO,
  storageos,
  migratable(vsphereVolume),
];

/** Sources of pods' volumes. */
export const POD_SOURCES: readonly SourcePlugin[] = [
  migratable(awsElasticBlockStore),
  migratable(azureDisk),
  migratable(azureFile),
  cephfs,
  migratable(cinder),
  configMap,
  csi,
  downwardAPI,
  emptyDir,
  createEphemeral(PERSISTENT_SOURCES),
  fc,
  flexVolume,
  flocker,
  migratable(gcePersistentDisk),
  gitRepo,
  glusterfs,
  hostPath,
  iscsi,
  nfs,
  createPersistentVolumeClaim(PERSISTENT_SOURCES),
  photonPersistentDisk,
  migratable(portworxVolume),
  projected,
  quobyte,
  migratable(rbd),
  scaleIO,
  secret,
  storageos,
  migratable(vsphereVolume),
];

/** Sources as the manager needs them. */
export interface SourceTable {
  /** Returns the setup of this volume.
   *  @throws VolumeSetupError naming an unsupported source, and for a volume with no source or several */
  bind(volume: Volume): SetUp;
  /** Returns the plugin by the field that selects it, for volumes left on disk. */
  plugin(name: string): SourcePlugin | undefined;
}

/** @param persistent sources that claims can reach */
export function createSourceTable(
  pod: readonly SourcePlugin[],
  persistent: readonly SourcePlugin[],
): SourceTable {
  return {
    bind(volume) {
      const { name: _, ...sources } = volume;
      const set = Object.entries(sources)
        .filter(([, spec]) => spec !== undefined && spec !== null)
        .map(([source]) => source);
      const [source] = set;
      if (source === undefined) throw new VolumeSetupError('no volume source is set');
      if (set.length > 1) {
        throw new VolumeSetupError(`more than one volume source is set: ${set.join(', ')}`);
      }
      const setUp = bindFrom(pod, sources);
      if (setUp !== undefined) return setUp;
      throw new VolumeSetupError(`this agent cannot mount volumes of source ${source}`);
    },
    plugin: (name) => [...pod, ...persistent].find((plugin) => plugin.name === name),
  };
}

/** Sources that this agent supports. */
export const SOURCES: SourceTable = createSourceTable(POD_SOURCES, PERSISTENT_SOURCES);
