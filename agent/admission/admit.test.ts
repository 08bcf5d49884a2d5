import { describe, expect, test } from 'vitest';
import type { Container, Pod, PodSpec } from '#api/gen/core-v1.ts';
import { type AdmissionLimits, refusal } from './admit.ts';
import { forbiddenSysctl } from './sysctls.ts';

const LIMITS: AdmissionLimits = {
  maxPods: 2,
  podsPerCore: 0,
  cores: 2,
  allowedUnsafeSysctls: ['net.core.*', 'kernel.sem'],
};

const pod = (name: string, spec: Partial<PodSpec> = {}): Pod => ({
  metadata: { namespace: 'default', name, uid: name },
  spec: { containers: [{ name: 'c' }], ...spec },
});

const withPort = (
  name: string,
  port: { hostPort: number; hostIP?: string; protocol?: 'TCP' | 'UDP' },
): Pod => {
  const container: Container = { name: 'c', ports: [{ containerPort: 80, ...port }] };
  return pod(name, { containers: [container] });
};

describe('refusal', () => {
  test('admits a pod while capacity is available', () => {
    expect(refusal(pod('a'), [pod('b')], LIMITS)).toBeUndefined();
  });

  test.each([
    ['maxPods', LIMITS, 2],
    ['podsPerCore', { ...LIMITS, maxPods: 100, podsPerCore: 1 }, 2],
  ])('rejects a pod beyond %s', (_, limits, count) => {
    const others = Array.from({ length: count }, (__, index) => pod(`p${index}`));
    expect(refusal(pod('a'), others, limits)).toMatchObject({ reason: 'OutOfpods' });
  });

  test.each([
    ['the same port', withPort('b', { hostPort: 80 }), true],
    ['another port', withPort('b', { hostPort: 81 }), false],
    ['another protocol', withPort('b', { hostPort: 80, protocol: 'UDP' }), false],
    ['one address of all', withPort('b', { hostPort: 80, hostIP: '10.0.0.1' }), true],
  ])('checks host ports: %s', (_, other, refused) => {
    const result = refusal(withPort('a', { hostPort: 80 }), [other], LIMITS);
    expect(result?.reason).toBe(refused ? 'NodePorts' : undefined);
  });

  test('admits two pods with one port on different addresses', () => {
    const first = withPort('a', { hostPort: 80, hostIP: '10.0.0.1' });
    expect(refusal(first, [withPort('b', { hostPort: 80, hostIP: '10.0.0.2' })], LIMITS)).toBeUndefined();
  });
});

describe('forbiddenSysctl', () => {
  test.each([
    ['a safe one', 'net.ipv4.tcp_syncookies', {}, false],
    ['a safe one with slashes', 'net/ipv4/tcp_syncookies', {}, false],
    ['an unsafe one', 'net.ipv4.ip_forward', {}, true],
    ['an unsafe one allowed by pattern', 'net.core.somaxconn', {}, false],
    ['an unsafe one allowed by name', 'kernel.sem', {}, false],
    ['one of the node', 'vm.swappiness', {}, true],
    ['a network one with hostNetwork', 'net.ipv4.tcp_syncookies', { hostNetwork: true }, true],
    ['an ipc one with hostIPC', 'kernel.shm_rmid_forced', { hostIPC: true }, true],
  ])('%s', (_, name, spec, forbidden) => {
    const subject = pod('a', { ...spec, securityContext: { sysctls: [{ name, value: '1' }] } });
    expect(forbiddenSysctl(subject, LIMITS.allowedUnsafeSysctls) !== undefined).toBe(forbidden);
  });
});
