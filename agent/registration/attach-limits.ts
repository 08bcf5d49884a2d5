/** How many disks of its cloud a machine can have attached at a time, told as resources that the scheduler counts by.
 *  Told only where the agent is told which cloud it is in: a word of others would be overwritten otherwise. Pure.
 *  Source: upstream's in-tree plugins of clouds, release 1.24. */
import type { ResourceList } from './resources.ts';

/** What the clouds call themselves in `--cloud-provider`. */
export type Cloud = 'aws' | 'azure' | 'gce' | 'openstack';

interface Limit {
  readonly resource: string;
  /** The gate that takes the plugin out of the agent. */
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
  // The sizes of that cloud are many, and its own driver tells theirs; this is what all of them that matter have.
  azure: { resource: 'attachable-volumes-azure-disk', unregister: 'AzureDisk', most: () => 16 },
  // The disk that the machine boots from is one of the 16 or 128. Of a machine that isn't known the least is told.
  gce: {
    resource: 'attachable-volumes-gce-pd',
    unregister: 'GCE',
    most: (type) => (type === '' || SMALL_GCE.has(type) ? 15 : 127),
  },
  openstack: { resource: 'attachable-volumes-cinder', unregister: 'OpenStack', most: () => 256 },
};

const isCloud = (name: string): name is Cloud => Object.hasOwn(LIMITS, name);

/** @param provider `--cloud-provider`; others than these have no limit here
 *  @param hasGate whether the gate that takes this plugin out is on
 *  @param instanceType of the node's label; empty while nobody set it */
export function decideAttachLimits(
  provider: string,
  instanceType: string,
  hasGate: (unregister: Limit['unregister']) => boolean = () => false,
): ResourceList {
  if (!isCloud(provider) || hasGate(LIMITS[provider].unregister)) return {};
  const { resource, most } = LIMITS[provider];
  return { [resource]: String(most(instanceType)) };
}
