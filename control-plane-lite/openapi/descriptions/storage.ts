/** Descriptions of volumes and storage kinds. Data. Source: volumes, document 3 §2. */
import type { Texts } from './texts.ts';

export const STORAGE_TEXTS: Texts = {
  'core/v1.PersistentVolume': { is: 'Storage of the cluster that outlives pods.' },
  'core/v1.PersistentVolumeSpec': {
    members: {
      capacity: 'How much it holds.',
      accessModes: 'How it can be mounted: ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod.',
      claimRef: 'Claim that it is bound to.',
      persistentVolumeReclaimPolicy: 'What becomes of it when its claim goes: Retain, Delete or Recycle.',
      storageClassName: 'Class that it belongs to.',
      mountOptions: 'Options of the mount.',
      volumeMode: 'Filesystem (default) or Block.',
      nodeAffinity: 'Nodes that can reach it.',
      hostPath: 'A file or directory of the node.',
      nfs: 'A directory of an NFS server.',
      iscsi: 'A disk of an iSCSI target.',
      local: 'A disk or directory of one node.',
      csi: 'Storage from a CSI driver.',
    },
  },
  'core/v1.PersistentVolumeClaim': { is: 'A wish for storage that outlives pods.' },
  'core/v1.PersistentVolumeClaimSpec': {
    members: {
      accessModes: 'How it is to be mounted: ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod.',
      selector: 'Labels of the volumes to choose from.',
      resources: 'How much it is to hold.',
      volumeName: 'Volume that it is bound to.',
      storageClassName: 'Class that it is to be of.',
      volumeMode: 'Filesystem (default) or Block.',
      dataSource: 'Snapshot or claim whose content it begins with.',
      dataSourceRef: 'Any object whose content it begins with.',
    },
  },
  'core/v1.PersistentVolumeClaimStatus': {
    members: {
      phase: 'Pending, Bound or Lost.',
      accessModes: 'How it can be mounted.',
      capacity: 'How much it holds.',
    },
  },
  'core/v1.HostPathVolumeSource': {
    is: 'A file or directory of the node.',
    members: {
      path: 'Path on the node.',
      type: 'What must be there, or is made; empty (default) looks at nothing.',
    },
  },
  'core/v1.EmptyDirVolumeSource': {
    is: 'A directory that is empty at first and goes with the pod.',
    members: {
      medium: 'Memory keeps it in memory; empty (default) is the disk of the node.',
      sizeLimit: 'The most that it may hold.',
    },
  },
  'core/v1.NFSVolumeSource': {
    is: 'A directory of an NFS server.',
    members: {
      server: 'Name or address of the server.',
      path: 'Directory that it exports.',
      readOnly: 'Nothing can be changed.',
    },
  },
  'core/v1.ConfigMapVolumeSource': {
    is: 'The content of a config map, as files.',
    members: {
      name: 'Name of the config map.',
      items: 'Keys to take, and their paths. Default: all, under their own names.',
      defaultMode: 'Permissions of the files. Default 0644.',
      optional: 'The config map, or its keys, need not be there.',
    },
  },
  'core/v1.SecretVolumeSource': {
    is: 'The content of a secret, as files.',
    members: {
      secretName: 'Name of the secret.',
      items: 'Keys to take, and their paths. Default: all, under their own names.',
      defaultMode: 'Permissions of the files. Default 0644.',
      optional: 'The secret, or its keys, need not be there.',
    },
  },
  'core/v1.KeyToPath': {
    members: {
      key: 'The key.',
      path: 'Path of its file inside the volume; must not have .. in it.',
      mode: 'Permissions of the file. Default: those of the volume.',
    },
  },
  'core/v1.ProjectedVolumeSource': {
    is: 'Several sources in one directory.',
    members: { sources: 'The sources.', defaultMode: 'Permissions of the files. Default 0644.' },
  },
  'core/v1.VolumeProjection': {
    is: 'One source of a projected volume.',
    members: {
      secret: 'The content of a secret.',
      downwardAPI: 'Facts about the pod.',
      configMap: 'The content of a config map.',
      serviceAccountToken: 'A token of the service account.',
    },
  },
  'core/v1.ServiceAccountTokenProjection': {
    is: 'A token of the service account, made anew in time.',
    members: {
      audience: 'For whom the token is good. Default: the API server.',
      expirationSeconds: 'Seconds for which it is good. Default 3600.',
      path: 'Path of its file inside the volume.',
    },
  },
  'core/v1.DownwardAPIVolumeSource': {
    is: 'Facts about the pod, as files.',
    members: { items: 'The files.', defaultMode: 'Permissions of the files. Default 0644.' },
  },
  'core/v1.DownwardAPIVolumeFile': {
    members: {
      path: 'Path of the file inside the volume.',
      fieldRef: 'Field of the pod that it shows.',
      resourceFieldRef: 'Limit or request of a container that it shows.',
      mode: 'Permissions of the file. Default: those of the volume.',
    },
  },
  'core/v1.PersistentVolumeClaimVolumeSource': {
    is: 'Storage that was claimed.',
    members: { claimName: 'Name of the claim.', readOnly: 'Nothing can be changed.' },
  },
  'core/v1.CSIVolumeSource': {
    is: 'Storage from a CSI driver, for one pod alone.',
    members: {
      driver: 'Name of the driver.',
      readOnly: 'Nothing can be changed.',
      fsType: 'File system to mount.',
      volumeAttributes: 'Names and values for the driver.',
      nodePublishSecretRef: 'Secret for the driver.',
    },
  },
  'storage/v1.StorageClass': {
    is: 'A kind of storage that can be claimed. Most of it cannot be changed.',
    members: {
      provisioner: 'Who makes the volumes.',
      parameters: 'Names and values for the provisioner.',
      reclaimPolicy: 'What becomes of volumes when their claims go: Delete (default) or Retain.',
      mountOptions: 'Options of the mounts.',
      allowVolumeExpansion: 'Claims may grow.',
      volumeBindingMode: 'Immediate (default), or WaitForFirstConsumer: not before a pod needs it.',
      allowedTopologies: 'Where volumes may be made.',
    },
  },
  'storage/v1.CSIDriver': { is: 'What a CSI driver can do and needs.' },
  'storage/v1.CSINode': { is: 'CSI drivers of a node.' },
  'storage/v1.VolumeAttachment': { is: 'A wish that a volume be attached to a node.' },
};
