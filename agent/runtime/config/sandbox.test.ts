import { describe, expect, test } from 'vitest';
import type { PodSecurityContext, PodSpec } from '#api/gen/core-v1.ts';
import { criKeys } from '../../pod-identity/labels.ts';
import { DNS, OWNER, RESOURCES, testPod } from './pod.fixture.ts';
import { createSandboxConfig, dottedSysctl, type SandboxInput } from './sandbox.ts';

const input = (spec: Partial<PodSpec> = {}, container = {}): SandboxInput => ({
  pod: testPod(spec, container),
  attempt: 2,
  owner: OWNER,
  logDirectory: '/var/log/pods/shop_web_uid-1',
  cgroupParent: '/nodeagent/besteffort/poduid-1',
  dns: DNS,
  resources: RESOURCES,
});

const configOf = (spec: Partial<PodSpec> = {}, container = {}) => {
  const result = createSandboxConfig(input(spec, container));
  if (result.kind === 'error') throw new Error(result.message);
  return result.config;
};

describe('createSandboxConfig', () => {
  test('names the sandbox, its log directory and its cgroup', () => {
    expect(configOf()).toMatchObject({
      metadata: { name: 'web', namespace: 'shop', uid: 'uid-1', attempt: 2 },
      hostname: 'web',
      logDirectory: '/var/log/pods/shop_web_uid-1',
      dnsConfig: { servers: ['10.0.0.10'] },
      labels: { [criKeys(OWNER.vocabulary).podUID]: 'uid-1' },
      portMappings: [],
      linux: { cgroupParent: '/nodeagent/besteffort/poduid-1', securityContext: { privileged: false } },
    });
  });

  test('maps host ports', () => {
    const ports = [
      { containerPort: 80, hostPort: 8080, hostIP: '127.0.0.1' },
      { containerPort: 53, hostPort: 53, protocol: 'UDP' as const },
      { containerPort: 9000 },
    ];
    expect(configOf({}, { ports }).portMappings).toEqual([
      { protocol: 'TCP', containerPort: 80, hostPort: 8080, hostIp: '127.0.0.1' },
      { protocol: 'UDP', containerPort: 53, hostPort: 53, hostIp: '' },
    ]);
    expect(configOf({ hostNetwork: true }, { ports }).portMappings).toEqual([]);
  });

  test('maps host ports of sidecars, not of init containers', () => {
    const ports = [{ containerPort: 80, hostPort: 8080 }];
    const initContainers = [
      { name: 'once', ports },
      { name: 'side', ports: [{ containerPort: 81, hostPort: 8081 }], restartPolicy: 'Always' as const },
    ];
    expect(configOf({ initContainers }).portMappings).toMatchObject([{ hostPort: 8081 }]);
  });

  test.each<[string, Partial<PodSpec>, object]>([
    ['its own', {}, { network: 'POD', ipc: 'POD', pid: 'CONTAINER' }],
    ['host network', { hostNetwork: true }, { network: 'NODE', ipc: 'POD', pid: 'CONTAINER' }],
    ['host ipc', { hostIPC: true }, { network: 'POD', ipc: 'NODE', pid: 'CONTAINER' }],
    ['host pid', { hostPID: true }, { pid: 'NODE' }],
    ['shared processes', { shareProcessNamespace: true }, { pid: 'POD' }],
  ])('gives namespaces: %s', (_, spec, expected) => {
    expect(configOf(spec).linux?.securityContext?.namespaceOptions).toMatchObject(expected);
  });

  test.each<[string, PodSecurityContext, object]>([
    [
      'user and group',
      { runAsUser: 5, runAsGroup: 6 },
      { runAsUser: { value: 5n }, runAsGroup: { value: 6n } },
    ],
    ['groups, each once', { fsGroup: 7, supplementalGroups: [8, 7] }, { supplementalGroups: [7n, 8n] }],
    ['SELinux options', { seLinuxOptions: { level: 's0' } }, { selinuxOptions: { level: 's0' } }],
  ])('passes on %s', (_, securityContext, expected) => {
    expect(configOf({ securityContext }).linux?.securityContext).toMatchObject(expected);
  });

  test('omits a group without a user, which the runtime would reject', () => {
    const context = configOf({ securityContext: { runAsGroup: 6 } }).linux?.securityContext;
    expect(context).not.toHaveProperty('runAsGroup');
  });

  test('is privileged when any container is', () => {
    const securityContext = { privileged: true };
    expect(configOf({}, { securityContext }).linux?.securityContext?.privileged).toBe(true);
    const ephemeralContainers = [{ name: 'debug', securityContext }];
    expect(configOf({ ephemeralContainers }).linux?.securityContext?.privileged).toBe(true);
  });

  test('writes sysctls with dots', () => {
    const sysctls = [{ name: 'net/ipv4/conf/eth0.1/forwarding', value: '1' }];
    expect(configOf({ securityContext: { sysctls } }).linux?.sysctls).toEqual({
      'net.ipv4.conf.eth0/1.forwarding': '1',
    });
  });

  test('sums the resources of the containers and passes on the overhead', () => {
    const containers = [
      { name: 'a', resources: { requests: { cpu: '250m' }, limits: { cpu: '500m', memory: '1Mi' } } },
      { name: 'b', resources: { requests: { cpu: '250m' }, limits: { cpu: '500m', memory: '1Mi' } } },
    ];
    expect(configOf({ containers, overhead: { cpu: '100m', memory: '1Ki' } }).linux).toMatchObject({
      resources: { cpuShares: 512n, cpuQuota: 100_000n, cpuPeriod: 100_000n, memoryLimitInBytes: 2_097_152n },
      overhead: { cpuShares: 102n, memoryLimitInBytes: 1024n },
    });
  });

  test('uses the hostname of the node with host networking', () => {
    expect(configOf({ hostNetwork: true }).hostname).toBe('');
  });

  test('is an error when the pod has no valid name', () => {
    const result = createSandboxConfig(input({ hostname: 'not valid' }));
    expect(result).toMatchObject({ kind: 'error', reason: 'FailedCreatePodSandBox' });
  });
});

test.each([
  ['kernel.shmmax', 'kernel.shmmax'],
  ['kernel/shmmax', 'kernel.shmmax'],
  ['net.ipv4.conf.eth0/1.forwarding', 'net.ipv4.conf.eth0/1.forwarding'],
  ['net/ipv4/conf/eth0.1/forwarding', 'net.ipv4.conf.eth0/1.forwarding'],
])('dottedSysctl reads %s as %s', (name, expected) => {
  expect(dottedSysctl(name)).toBe(expected);
});
