import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createDefaultConfig } from '../default-config.ts';
import type { AgentConfig } from '../gen/config.ts';
import { validateConfig } from './config.ts';

const base = createDefaultConfig();
const errors = (change: Partial<AgentConfig>): readonly string[] =>
  validateConfig({ ...base, ...change }).map(({ field, detail }) => `${field}: ${detail}`);

const allAlpha = { featureGates: { AllAlpha: true } };
const { domain } = VOCABULARIES.plat;

test('accepts the defaults', () => {
  expect(validateConfig(base)).toEqual([]);
  expect(validateConfig(createDefaultConfig(true))).toEqual([]);
});

describe('validateConfig accepts', () => {
  test.each<[string, Partial<AgentConfig>]>([
    ['a disabled threshold', { evictionHard: { 'memory.available': '0%' } }],
    [
      'a soft threshold with its grace period',
      { evictionSoft: { 'memory.available': '1Gi' }, evictionSoftGracePeriod: { 'memory.available': '1m' } },
    ],
    ['nothing enforced without cgroups', { cgroupsPerQOS: false, enforceNodeAllocatable: [] }],
    ['none without cgroups', { cgroupsPerQOS: false, enforceNodeAllocatable: ['none'] }],
    [
      'reserved groups with their cgroups',
      {
        enforceNodeAllocatable: ['pods', 'system-reserved', 'plat-reserved'],
        systemReservedCgroup: '/system.slice',
        platReservedCgroup: '/plat.slice',
      },
    ],
    ['shutdown periods', { shutdownGracePeriod: 30_000, shutdownGracePeriodCriticalPods: 10_000 }],
    [
      'shutdown periods by priority',
      { shutdownGracePeriodByPodPriority: [{ priority: 0, shutdownGracePeriodSeconds: 5 }] },
    ],
    [
      'sysctl patterns',
      { allowedUnsafeSysctls: ['net.*', 'kernel.msg*', 'net.core.somaxconn', 'fs.mqueue.*', 'kernel.sem'] },
    ],
    ['a node address of each family', { nodeIP: '10.0.0.1,fd00::1' }],
    ['an address without a family', { nodeIP: '::' }],
    ['labels of others', { nodeLabels: { 'example.com/zone': 'a', plain: '' } }],
    [
      "the platform's labels that a node may set",
      {
        nodeLabels: {
          [`node.${domain}/x`]: '1',
          [`topology.${domain}/zone`]: 'a',
          [`sub.${VOCABULARIES.plat.nodeAgentLabelDomain}/x`]: '1',
        },
      },
    ],
    ['a quota period with its gate', { cpuCFSQuotaPeriod: 5, ...allAlpha }],
    ['a class reservation with its gate', { qosReserved: { memory: '50%' }, ...allAlpha }],
    ['endpoints', { containerRuntimeEndpoint: 'unix:///run/x.sock', imageServiceEndpoint: '/run/x.sock' }],
    ['processors', { reservedSystemCPUs: '0-3, 8' }],
    [
      'reserved memory of several nodes',
      {
        reservedMemory: [
          { numaNode: 0, limits: { memory: '1Gi', 'hugepages-2Mi': '1Gi' } },
          { numaNode: 1, limits: { memory: '1Gi' } },
        ],
      },
    ],
    ['a log without rotation', { containerLogMaxSize: '-1' }],
    ['volume statistics switched off', { volumeStatsAggPeriod: -1 }],
    ['a node name in capitals', { hostnameOverride: 'Node-1' }],
    ['an absolute domain', { clusterDomain: 'cluster.local.' }],
    [
      'a page of manifests',
      { staticPodURL: 'https://example.com/pods?x=1', staticPodURLHeader: { 'X-Key': ['a'] } },
    ],
  ])('%s', (_name, change) => {
    expect(errors(change)).toEqual([]);
  });
});

describe('validateConfig rejects', () => {
  test.each<[string, Partial<AgentConfig>, string]>([
    [
      'image thresholds the wrong way round',
      { imageGCLowThresholdPercent: 90 },
      'imageGCLowThresholdPercent: must be below imageGCHighThresholdPercent, which is 85',
    ],
    [
      'equal image thresholds',
      { imageGCLowThresholdPercent: 85 },
      'imageGCLowThresholdPercent: must be below',
    ],
    ['a value outside its range', { maxPods: -1 }, 'maxPods: must be at least 0'],
    [
      'a quota period outside its range',
      { cpuCFSQuotaPeriod: 2000, ...allAlpha },
      'cpuCFSQuotaPeriod: must be from 1us to 1s',
    ],
    [
      'a quota period without its gate',
      { cpuCFSQuotaPeriod: 5 },
      'cpuCFSQuotaPeriod: needs the feature gate CustomCPUCFSQuotaPeriod=true',
    ],
    [
      'swap without its gate',
      { memorySwap: { swapBehavior: 'LimitedSwap' } },
      'memorySwap.swapBehavior: needs the feature gate NodeSwap=true',
    ],
    [
      'default seccomp without its gate',
      { seccompDefault: true },
      'seccompDefault: needs the feature gate SeccompDefault=true',
    ],
    [
      'certificates without their gate',
      { serverTLSBootstrap: true, featureGates: { RotateNodeAgentServerCertificate: false } },
      'serverTLSBootstrap: needs the feature gate',
    ],
    [
      'a topology policy without its gate',
      { topologyManagerPolicy: 'restricted', featureGates: { TopologyManager: false } },
      'topologyManagerPolicy: needs the feature gate',
    ],
    [
      'a topology scope without its gate',
      { topologyManagerScope: 'pod', featureGates: { TopologyManager: false } },
      'topologyManagerScope: needs the feature gate',
    ],
    [
      'policy options without one of their gates',
      { cpuManagerPolicyOptions: { a: 'true' }, featureGates: { CPUManagerPolicyOptions: false } },
      'cpuManagerPolicyOptions: needs the feature gate CPUManagerPolicyOptions=true',
    ],
    [
      'a memory policy without its gate',
      { memoryManagerPolicy: 'Static', featureGates: { AllBeta: false } },
      'memoryManagerPolicy: needs the feature gate MemoryManager=true',
    ],
    ['an unknown gate', { featureGates: { Nothing: true } }, 'featureGates[Nothing]: no such feature gate'],
    [
      'enforcement without cgroups',
      { cgroupsPerQOS: false },
      'enforceNodeAllocatable: must be empty or none while cgroupsPerQOS is false',
    ],
    [
      'none with others',
      { enforceNodeAllocatable: ['none', 'pods'] },
      'enforceNodeAllocatable: none must stand alone',
    ],
    [
      'a group twice',
      { enforceNodeAllocatable: ['pods', 'pods'] },
      'enforceNodeAllocatable: must not repeat a group',
    ],
    [
      'system-reserved without its cgroup',
      { enforceNodeAllocatable: ['system-reserved'] },
      'system-reserved needs its cgroup: systemReservedCgroup (--system-reserved-cgroup)',
    ],
    [
      'plat-reserved without its cgroup',
      { enforceNodeAllocatable: ['plat-reserved'] },
      'plat-reserved needs its cgroup: platReservedCgroup (--plat-reserved-cgroup)',
    ],
    ['system cgroups without a root', { systemCgroups: '/system' }, 'systemCgroups: needs cgroupRoot'],
    [
      'a relative cgroup',
      { systemReservedCgroup: 'system.slice' },
      'systemReservedCgroup: must be an absolute name',
    ],
    [
      'CPUs beside a cgroup',
      { reservedSystemCPUs: '0', systemReservedCgroup: '/system.slice' },
      'reservedSystemCPUs: cannot be combined with systemReservedCgroup',
    ],
    ['CPUs backwards', { reservedSystemCPUs: '3-1' }, 'reservedSystemCPUs: the range 3-1 runs backwards'],
    ['an invalid CPU list', { reservedSystemCPUs: '1,,2' }, 'reservedSystemCPUs: must be CPU numbers'],
    [
      'more pods per core than pods',
      { podsPerCore: 200 },
      'podsPerCore: must not be above maxPods, which is 110',
    ],
    ['the same mark bit twice', { iptablesDropBit: 14 }, 'iptablesDropBit: must differ'],
    [
      'a signal that does not exist',
      { evictionHard: { 'memory.free': '1Gi' } },
      'evictionHard[memory.free]: "memory.free" is not an eviction signal',
    ],
    [
      'an amount that is none',
      { evictionHard: { 'memory.available': 'much' } },
      'evictionHard[memory.available]: "much" is neither',
    ],
    [
      'a soft threshold without grace',
      { evictionSoft: { 'memory.available': '1Gi' } },
      'evictionSoft[memory.available]: needs a grace period',
    ],
    [
      'no grace at all',
      { evictionSoftGracePeriod: { 'memory.available': '0s' } },
      'evictionSoftGracePeriod[memory.available]: "0s" must be longer',
    ],
    [
      'a reclaim below zero',
      { evictionMinimumReclaim: { 'memory.available': '-1' } },
      'evictionMinimumReclaim[memory.available]: "-1" must be above zero',
    ],
    ['a shutdown too short', { shutdownGracePeriod: 500 }, 'shutdownGracePeriod: must be 0s or at least 1s'],
    [
      'critical pods longer than all',
      { shutdownGracePeriodCriticalPods: 2000 },
      'shutdownGracePeriodCriticalPods: must not be longer than shutdownGracePeriod, which is 0s',
    ],
    [
      'both kinds of shutdown periods',
      {
        shutdownGracePeriod: 2000,
        shutdownGracePeriodByPodPriority: [{ priority: 1, shutdownGracePeriodSeconds: 1 }],
      },
      'shutdownGracePeriodByPodPriority: cannot be combined with shutdownGracePeriod; specify one kind',
    ],
    [
      'a priority twice',
      {
        shutdownGracePeriodByPodPriority: [
          { priority: 1, shutdownGracePeriodSeconds: 1 },
          { priority: 1, shutdownGracePeriodSeconds: 2 },
        ],
      },
      'shutdownGracePeriodByPodPriority[1].priority: has a grace period already',
    ],
    [
      'a negative period of a priority',
      { shutdownGracePeriodByPodPriority: [{ priority: 1, shutdownGracePeriodSeconds: -1 }] },
      '[0].shutdownGracePeriodSeconds: must not be negative',
    ],
    [
      'a sysctl of the whole machine',
      { allowedUnsafeSysctls: ['vm.swappiness'] },
      'allowedUnsafeSysctls[0]: belongs to the whole machine',
    ],
    [
      'every sysctl',
      { allowedUnsafeSysctls: ['*'] },
      'allowedUnsafeSysctls[0]: must be the name of a sysctl',
    ],
    [
      'a pattern in the middle',
      { allowedUnsafeSysctls: ['net.*.somaxconn'] },
      'allowedUnsafeSysctls[0]: must be the name of a sysctl',
    ],
    [
      'a pattern across namespaces',
      { allowedUnsafeSysctls: ['kernel.*'] },
      'allowedUnsafeSysctls[0]: belongs to the whole machine',
    ],
    [
      'a resource that cannot be reserved',
      { systemReserved: { disk: '1Gi' } },
      'systemReserved[disk]: only cpu, memory, ephemeral-storage, pid can be reserved',
    ],
    ['a reservation below zero', { platReserved: { cpu: '-1' } }, 'platReserved[cpu]: must not be negative'],
    ['a reservation that is none', { platReserved: { cpu: 'one' } }, 'platReserved[cpu]: must be a quantity'],
    [
      'a class reservation of CPUs',
      { qosReserved: { cpu: '50%' }, ...allAlpha },
      'qosReserved[cpu]: only memory',
    ],
    [
      'a class reservation above all',
      { qosReserved: { memory: '101%' }, ...allAlpha },
      'qosReserved[memory]: must be a percentage',
    ],
    [
      'memory reserved twice',
      {
        reservedMemory: [
          { numaNode: 0, limits: { memory: '1Gi' } },
          { numaNode: 0, limits: { memory: '2Gi' } },
        ],
      },
      'reservedMemory[1].limits[memory]: is reserved on NUMA node 0 already',
    ],
    [
      'no memory reserved',
      { reservedMemory: [{ numaNode: 0, limits: { memory: '0' } }] },
      'reservedMemory[0].limits[memory]: must be a quantity above zero',
    ],
    [
      'CPUs reserved as memory',
      { reservedMemory: [{ numaNode: 0, limits: { cpu: '1' } }] },
      'reservedMemory[0].limits[cpu]: only memory and hugepages',
    ],
    [
      'a NUMA node below zero',
      { reservedMemory: [{ numaNode: -1, limits: { memory: '1' } }] },
      'reservedMemory[0].numaNode: must not be negative',
    ],
    [
      'a throttling factor above one',
      { memoryThrottlingFactor: 2, ...allAlpha },
      'memoryThrottlingFactor: must be above 0',
    ],
    [
      'two node addresses of one family',
      { nodeIP: '10.0.0.1,10.0.0.2' },
      'nodeIP: must be one address, or one of each family',
    ],
    ['a node address that is none', { nodeIP: 'here' }, 'nodeIP: must be an IP address'],
    [
      "the platform's other labels",
      { nodeLabels: { [`node-role.${domain}/worker`]: '' } },
      "of the platform's labels only those below",
    ],
    ['a label value that is none', { nodeLabels: { a: 'b c' } }, 'nodeLabels[a]: must be'],
    [
      'a taint twice',
      {
        registerWithTaints: [
          { key: 'a', effect: 'NoExecute' },
          { key: 'a', value: 'b', effect: 'NoExecute' },
        ],
      },
      'registerWithTaints[1]: duplicate key and effect',
    ],
    [
      'a taint without a key',
      { registerWithTaints: [{ key: '', effect: 'NoExecute' }] },
      'registerWithTaints[0].key: name part must not be empty',
    ],
    ['a node name that is none', { hostnameOverride: 'a_b' }, 'hostnameOverride: must'],
    [
      'a bootstrap without a result',
      { bootstrapKubeconfig: '/x' },
      'bootstrapKubeconfig: needs --platconfig',
    ],
    ['half a pair of TLS files', { tlsCertFile: '/x' }, 'tlsCertFile: needs tlsPrivateKeyFile'],
    ['the other half', { tlsPrivateKeyFile: '/x' }, 'tlsPrivateKeyFile: needs tlsCertFile'],
    ['an unknown TLS version', { tlsCipherSuites: ['AES'] }, 'tlsCipherSuites[0]: must be a suite'],
    ['two servers on one port', { readOnlyPort: 10250 }, 'readOnlyPort: must differ from port'],
    [
      'docker on the network',
      { containerRuntime: 'docker', dockerEndpoint: 'tcp://1.2.3.4:2375' },
      'dockerEndpoint: must be a unix socket',
    ],
    [
      'an unknown network plugin of docker',
      { containerRuntime: 'docker', networkPlugin: 'weave' },
      'networkPlugin: must be cni, kubenet, noop or empty',
    ],
    [
      'docker beside an endpoint of CRI',
      { containerRuntime: 'docker', containerRuntimeEndpoint: '/run/x.sock' },
      'containerRuntimeEndpoint: has no effect with the docker runtime',
    ],
    [
      'an endpoint on the network',
      { containerRuntimeEndpoint: 'tcp://127.0.0.1:5' },
      'containerRuntimeEndpoint: must be a unix socket',
    ],
    [
      'an endpoint on the network, which the image service follows',
      { containerRuntimeEndpoint: 'tcp://127.0.0.1:5', imageServiceEndpoint: 'tcp://127.0.0.1:5' },
      'containerRuntimeEndpoint: must be a unix socket',
    ],
    [
      'a socket path that is too long',
      { socketPath: `/${'x'.repeat(107)}` },
      'socketPath: must have at most 107 bytes',
    ],
    [
      'contention without a lock',
      { exitOnLockContention: true },
      'exitOnLockContention: needs the lock file',
    ],
    [
      'a manifest page that is a file',
      { staticPodURL: 'file:///x' },
      'staticPodURL: must be an http or https URL',
    ],
    [
      'a header name that is none',
      { staticPodURLHeader: { 'a b': ['x'] } },
      'staticPodURLHeader[a b]: must be',
    ],
    [
      'a header of two lines',
      { staticPodURLHeader: { a: ['x\ny'] } },
      'staticPodURLHeader[a]: values must be one line',
    ],
    [
      'plugins without their configuration',
      { imageCredentialProviderBinDir: '/x' },
      'imageCredentialProviderBinDir: needs --image-credential-provider-config',
    ],
    [
      'a plugin configuration without plugins',
      { imageCredentialProviderConfig: '/x' },
      'imageCredentialProviderConfig: needs --image-credential-provider-bin-dir',
    ],
    ['one log file', { containerLogMaxFiles: 1 }, 'containerLogMaxFiles: must be at least 2'],
    ['logs of no size', { containerLogMaxSize: '0' }, 'containerLogMaxSize: must not be zero'],
    ['a name server by name', { clusterDNS: ['10.0.0.1', 'dns'] }, 'clusterDNS[1]: must be an IP address'],
    [
      'four name servers',
      { clusterDNS: ['1.1.1.1', '1.1.1.2', '1.1.1.3', '1.1.1.4'] },
      'clusterDNS: must have at most 3',
    ],
    ['a domain that is none', { clusterDomain: 'a_b' }, 'clusterDomain: must'],
    ['a range that is an address', { podCIDR: '10.0.0.1' }, 'podCIDR: must be an address range'],
    [
      'a range too narrow',
      { nonMasqueradeCidr: '10.0.0.0/33' },
      'nonMasqueradeCidr: must be an address range',
    ],
    ['an endless loop', { fileCheckFrequency: 0 }, 'fileCheckFrequency: must be longer than 0s'],
    [
      'a wait before now',
      { evictionPressureTransitionPeriod: -1 },
      'evictionPressureTransitionPeriod: must not be negative',
    ],
    ['an empty root', { rootDir: '' }, 'rootDir: must be given'],
    [
      'log levels for JSON',
      { logging: { ...base.logging, format: 'json', vmodule: [{ filePattern: 'a', verbosity: 1 }] } },
      'logging.vmodule: works with the text format only',
    ],
    [
      'a log pattern that cannot be written',
      { logging: { ...base.logging, vmodule: [{ filePattern: 'a=b', verbosity: 1 }] } },
      'logging.vmodule[0].filePattern: must be',
    ],
  ])('%s', (_name, change, message) => {
    const found = errors(change);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(message);
  });

  test('everything at once', () => {
    expect(errors({ maxPods: -1, imageGCLowThresholdPercent: 90, cgroupsPerQOS: false })).toHaveLength(3);
  });
});
