/** Use of each field of each source on the node. A field that is missing here is not part of the API.
 *  Source: volume sources, document 3 §2.3 and §2.5. */
import type { SourceFields } from '../contract/source.ts';

/** `used`: it has an effect, or is rejected. Otherwise the reason why the node ignores it. */
export type FieldUse = 'used' | { readonly elsewhere: string };

const elsewhere = (why: string): FieldUse => ({ elsewhere: why });

export const FIELD_USES: { readonly [K in keyof SourceFields]-?: Readonly<Record<string, FieldUse>> } = {
  awsElasticBlockStore: {
    volumeID: 'used',
    fsType: 'used',
    partition: 'used',
    readOnly: 'used',
  },
  azureDisk: {
    diskName: 'used',
    diskURI: 'used',
    cachingMode: elsewhere('checked; for the attacher'),
    fsType: 'used',
    readOnly: 'used',
    kind: elsewhere('checked; for the attacher'),
  },
  azureFile: {
    secretName: 'used',
    shareName: 'used',
    readOnly: 'used',
    secretNamespace: 'used',
  },
  cephfs: {
    monitors: 'used',
    path: 'used',
    user: 'used',
    secretFile: 'used',
    secretRef: 'used',
    readOnly: 'used',
  },
  cinder: {
    volumeID: 'used',
    fsType: 'used',
    readOnly: 'used',
    secretRef: 'used',
  },
  configMap: {
    name: 'used',
    items: 'used',
    defaultMode: 'used',
    optional: 'used',
  },
  csi: {
    driver: 'used',
    readOnly: 'used',
    fsType: 'used',
    volumeAttributes: 'used',
    nodePublishSecretRef: 'used',
    volumeHandle: 'used',
    controllerPublishSecretRef: elsewhere('for the attacher, beside the API server'),
    nodeStageSecretRef: 'used',
    controllerExpandSecretRef: elsewhere('for the resizer, beside the API server'),
  },
  downwardAPI: {
    items: 'used',
    defaultMode: 'used',
  },
  emptyDir: {
    medium: 'used',
    sizeLimit: 'used',
  },
  ephemeral: {
    volumeClaimTemplate: elsewhere(
      'the claim is created from it beside the API server, or by an agent without one',
    ),
  },
  fc: {
    targetWWNs: 'used',
    lun: 'used',
    fsType: 'used',
    readOnly: 'used',
    wwids: 'used',
  },
  flexVolume: {
    driver: 'used',
    fsType: 'used',
    secretRef: 'used',
    readOnly: 'used',
    options: 'used',
  },
  flocker: {
    datasetName: 'used',
    datasetUUID: 'used',
  },
  gcePersistentDisk: {
    pdName: 'used',
    fsType: 'used',
    partition: 'used',
    readOnly: 'used',
  },
  gitRepo: {
    repository: 'used',
    revision: 'used',
    directory: 'used',
  },
  glusterfs: {
    endpoints: 'used',
    path: 'used',
    readOnly: 'used',
    endpointsNamespace: 'used',
  },
  hostPath: {
    path: 'used',
    type: 'used',
  },
  iscsi: {
    targetPortal: 'used',
    iqn: 'used',
    lun: 'used',
    iscsiInterface: 'used',
    fsType: 'used',
    readOnly: 'used',
    portals: 'used',
    chapAuthDiscovery: 'used',
    chapAuthSession: 'used',
    secretRef: 'used',
    initiatorName: 'used',
  },
  local: {
    path: 'used',
    fsType: 'used',
  },
  nfs: {
    server: 'used',
    path: 'used',
    readOnly: 'used',
  },
  persistentVolumeClaim: {
    claimName: 'used',
    readOnly: 'used',
  },
  photonPersistentDisk: {
    pdID: 'used',
    fsType: 'used',
  },
  portworxVolume: {
    volumeID: 'used',
    fsType: 'used',
    readOnly: 'used',
  },
  projected: {
    sources: 'used',
    defaultMode: 'used',
  },
  quobyte: {
    registry: 'used',
    volume: 'used',
    readOnly: 'used',
    user: 'used',
    group: 'used',
    tenant: 'used',
  },
  rbd: {
    monitors: 'used',
    image: 'used',
    fsType: 'used',
    pool: 'used',
    user: 'used',
    keyring: 'used',
    secretRef: 'used',
    readOnly: 'used',
  },
  scaleIO: {
    gateway: 'used',
    system: 'used',
    secretRef: 'used',
    sslEnabled: 'used',
    protectionDomain: 'used',
    storagePool: 'used',
    storageMode: 'used',
    volumeName: 'used',
    fsType: 'used',
    readOnly: 'used',
  },
  secret: {
    secretName: 'used',
    items: 'used',
    defaultMode: 'used',
    optional: 'used',
  },
  storageos: {
    volumeName: 'used',
    volumeNamespace: 'used',
    fsType: 'used',
    readOnly: 'used',
    secretRef: 'used',
  },
  vsphereVolume: {
    volumePath: 'used',
    fsType: 'used',
    storagePolicyName: elsewhere('checked; for the provisioner and the attacher'),
    storagePolicyID: elsewhere('checked; for the provisioner and the attacher'),
  },
};
