/** Node facts and configuration that pods depend on, gathered once at start. */
import { readFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { VOCABULARIES, type Vocabulary } from '#api/vocabulary.ts';
import { parseHierarchies } from '../cgroups/hierarchies.ts';
import { allocatableAmounts } from '../cgroups/node-allocatable.ts';
import { featureEnabled } from '../config/feature-gates.ts';
import type { AgentConfig } from '../config/gen/config.ts';
import type { ContainerStartSettings } from '../pods/operations/container-config.ts';
import type { SandboxSettings } from '../pods/operations/sandbox.ts';
import { resourceRules } from '../registration/settings.ts';
import { type DnsSettings, parseResolvConf, type ResolvConf } from '../runtime/config/hostname.ts';
import type { ResourceSettings } from '../runtime/config/resources.ts';
import { hugePageSizesBytes, nodeCapacity, nodeName, prefersIPv6 } from './node-facts.ts';

export interface NodeSettings extends SandboxSettings, ContainerStartSettings {
  readonly vocabulary: Vocabulary;
  /** CPU cores of the machine. */
  readonly cores: number;
}

export interface NodeIdentity {
  readonly instance: string;
  readonly hostIPs: readonly string[];
}

export async function loadNodeSettings(config: AgentConfig, identity: NodeIdentity): Promise<NodeSettings> {
  const vocabulary: Vocabulary = VOCABULARIES[config.vocabulary];
  const capacity = nodeCapacity();
  const allocatable = allocatableAmounts(
    { cores: capacity['cpu'] ?? 1, memoryBytes: totalmem(), pids: undefined },
    resourceRules(config),
  );
  const resources: ResourceSettings = {
    cpuCFSQuota: config.cpuCFSQuota,
    cpuCFSQuotaPeriodMs: config.cpuCFSQuotaPeriod,
    memoryCapacityBytes: totalmem(),
    hugePageSizesBytes: await hugePageSizesBytes(),
    swap: swapBehaviour(config),
    ...(featureEnabled(config, 'MemoryQoS') && (await isUnified())
      ? {
          memoryQoS: {
            throttlingFactor: config.memoryThrottlingFactor,
            allocatableBytes: allocatable['memory'] ?? 0,
          },
        }
      : {}),
  };
  return {
    owner: {
      vocabulary,
      instance: identity.instance,
      rootDir: config.rootDir,
      node: nodeName(config.hostnameOverride),
    },
    vocabulary,
    podLogsDir: config.podLogsDir,
    resources,
    container: {
      resources,
      security: {
        vocabulary,
        seccompProfileRoot: config.seccompProfileRoot,
        seccompDefault: config.seccompDefault && featureEnabled(config, 'SeccompDefault'),
        procMountType: featureEnabled(config, 'ProcMountType'),
        appArmor: featureEnabled(config, 'AppArmor'),
      },
      seLinux: await seLinuxEnabled(),
    },
    dns: () => dnsSettings(config, identity),
    hostIPs: () => identity.hostIPs,
    allocatable: () => allocatable,
    cores: capacity['cpu'] ?? 1,
  };
}

/** Whether limits use cgroup v2. */
async function isUnified(): Promise<boolean> {
  const mounts = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  return parseHierarchies(mounts)?.version === 2;
}

function swapBehaviour(config: AgentConfig): ResourceSettings['swap'] {
  if (!featureEnabled(config, 'NodeSwap')) return 'none';
  return config.memorySwap.swapBehavior === 'UnlimitedSwap' ? 'unlimited' : 'limited';
}

async function seLinuxEnabled(): Promise<boolean> {
  const enforce = await readFile('/sys/fs/selinux/enforce', 'utf8').catch(() => undefined);
  return enforce !== undefined;
}

async function dnsSettings(config: AgentConfig, { hostIPs }: NodeIdentity): Promise<DnsSettings> {
  return {
    clusterDNS: config.clusterDNS,
    clusterDomain: config.clusterDomain,
    hostResolvConf: config.resolvConf === '' ? undefined : await readResolvConf(config.resolvConf),
    nodeIsIPv6: prefersIPv6(hostIPs),
    expandedLimits: featureEnabled(config, 'ExpandedDNSConfig'),
  };
}

/** Read again for each sandbox: it changes with the network of the node. */
async function readResolvConf(path: string): Promise<ResolvConf> {
  return parseResolvConf(await readFile(path, 'utf8').catch(() => ''));
}
