/** Limits of attachable cloud volumes, reported as resources that the scheduler counts. Reported only with an
 *  in-tree cloud provider: the limits of other providers would be overwritten otherwise. Pure.
 *  Source: upstream's in-tree cloud plugins, release 1.24. */
import type { ResourceList } from '../machine/capacity.ts';

/** Cloud names in `--cloud-provider`. */
export type Cloud = 'aws' | 'azure' | 'gce' | 'openstack';

interface Limit {
  readonly resource: string;
  /** Feature gate that unregisters the in-tree plugin. */
  readonly unregister: 'AWS' | 'AzureDisk' | 'GCE' | 'OpenStack';
  readonly most: (instanceType: string) => number;
}

const SMALL_GCE: ReadonlySet<string> = new Set(['f1-micro', 'g1-small', 'e2-micro', 'e2-small', 'e2-medium']);

const LIMITS: Readonly<Record<Cloud, Limit>> = {
  aws: {
    resource: 'attachable-volumes-aws-ebs',
    unregister: 'AWS',
    most: (type) => (/^[cmr]5|t3|z1d/.test(type) ? 25 : 39),
  },
  // The limit depends on the machine size, which the cloud's own driver reports; this is the common value.
  azure: { resource: 'attachable-volumes-azure-disk', unregister: 'AzureDisk', most: () => 16 },
  // One of the 16 or 128 disks is the boot disk. An unknown machine type gets the lower limit.
  gce: {
    resource: 'attachable-volumes-gce-pd',
    unregister: 'GCE',
    most: (type) => (type === '' || SMALL_GCE.has(type) ? 15 : 127),
  },
  openstack: { resource: 'attachable-volumes-cinder', unregister: 'OpenStack', most: () => 256 },
};

const isCloud = (name: string): name is Cloud => Object.hasOwn(LIMITS, name);

/** @param provider `--cloud-provider`; others than these have no limit here
 *  @param hasGate reports whether the gate that unregisters the plugin is on
 *  @param instanceType value of the node label; empty while it is unset */
export function decideAttachLimits(
  provider: string,
  instanceType: string,
  hasGate: (unregister: Limit['unregister']) => boolean = () => false,
): ResourceList {
  if (!isCloud(provider) || hasGate(LIMITS[provider].unregister)) return {};
  const { resource, most } = LIMITS[provider];
  return { [resource]: String(most(instanceType)) };
}
