/** Labels cloud volumes with their region and zone. Without a cloud provider nothing is known about such a
 *  volume, so that it is rejected, as upstream does, unless the client has labelled it. Deprecated. Source:
 *  PersistentVolumeLabel, document 2 §2.7; upstream's plugin, release 1.24. */
import type { PersistentVolume } from '#api/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { typed } from '../resources/view.ts';
import type { AdmissionPlugin } from './contract.ts';
import { refusal } from './refusal.ts';

/** Upstream's placeholder name of a volume that the provisioner has not created yet: it has no labels. */
const TO_BE_MADE = 'placeholder-for-provisioning';

type Spec = NonNullable<PersistentVolume['spec']>;

/** Returns the name of the cloud volume type for messages; `undefined` for other volumes. */
function askedOf(spec: Spec): string | undefined {
  const {
    awsElasticBlockStore: aws,
    gcePersistentDisk: gce,
    azureDisk: azure,
    vsphereVolume: vsphere,
  } = spec;
  const text = (what: string, id: string, cloud: string): string | undefined =>
    id === TO_BE_MADE ? undefined : `error querying ${what} ${id}: unable to build ${cloud}`;
  if (aws !== undefined) return text('AWS EBS volume', aws.volumeID, 'AWS cloud provider for EBS');
  if (gce !== undefined) return text('GCE PD volume', gce.pdName, 'GCE cloud provider for PD');
  if (azure !== undefined)
    return text('AzureDisk volume', azure.diskName, 'Azure cloud provider for AzureDisk');
  if (vsphere !== undefined) return text('vSphere Volume', vsphere.volumePath, 'vSphere cloud provider');
  return undefined;
}

export function createVolumeLabel({ domain }: Pick<Vocabulary, 'domain'>): AdmissionPlugin {
  const topologies = ['topology', 'failure-domain.beta'].map((group) => [
    `${group}.${domain}/region`,
    `${group}.${domain}/zone`,
  ]);
  const provisioned = `pv.${domain}/provisioned-by`;
  return {
    name: 'PersistentVolumeLabel',
    operations: ['CREATE'],
    resources: new Set(['/persistentvolumes']),
    mutate(request) {
      if (request.object === undefined || request.subresource !== '') return;
      const { metadata = {}, spec = {} } = typed<PersistentVolume>(request.object);
      const { labels = {}, annotations = {} } = metadata;
      const isPlaced = topologies.some((names) => names.every((name) => (labels[name] ?? '') !== ''));
      if (annotations[provisioned] !== undefined && isPlaced) return;
      const fieldError = askedOf(spec);
      if (fieldError !== undefined) throw refusal(request, fieldError);
    },
  };
}
