/** Base pod and settings for the tests of this folder. Each test row changes one member. */
import type { Container, Pod, PodSpec } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { Owner } from '../../pod-identity/labels.ts';
import type { ContainerSettings } from './container.ts';
import type { DnsSettings } from './hostname.ts';
import type { ResourceSettings } from './resources.ts';
import type { SecuritySettings } from './security.ts';

export const BASE_CONTAINER: Container = { name: 'app', image: 'busybox:1' };

/** Returns a pod with one container; `spec` and `container` override the base. */
export function testPod(spec: Partial<PodSpec> = {}, container: Partial<Container> = {}): Pod {
  return {
    metadata: { name: 'web', namespace: 'shop', uid: 'uid-1', labels: { tier: 'front' } },
    spec: { containers: [{ ...BASE_CONTAINER, ...container }], ...spec },
  };
}

/** Returns the same pod with annotations. */
export function withAnnotations(pod: Pod, annotations: Readonly<Record<string, string>>): Pod {
  return { ...pod, metadata: { ...pod.metadata, annotations } };
}

export const OWNER: Owner = { vocabulary: VOCABULARIES.plat, instance: 'node-7f3a' };

export const DNS: DnsSettings = {
  clusterDNS: ['10.0.0.10'],
  clusterDomain: 'cluster.local',
  hostResolvConf: { servers: ['192.0.2.1'], searches: ['example.net'], options: ['rotate'] },
  nodeIsIPv6: false,
  expandedLimits: false,
};

export const RESOURCES: ResourceSettings = {
  cpuCFSQuota: true,
  cpuCFSQuotaPeriodMs: 100,
  memoryCapacityBytes: 1_000_000_000,
  hugePageSizesBytes: [],
  swap: 'none',
};

export const SECURITY: SecuritySettings = {
  vocabulary: VOCABULARIES.plat,
  seccompProfileRoot: '/var/lib/nodeagent/seccomp',
  seccompDefault: false,
  procMountType: false,
  appArmor: true,
};

export const SETTINGS: ContainerSettings = { resources: RESOURCES, security: SECURITY, seLinux: false };
