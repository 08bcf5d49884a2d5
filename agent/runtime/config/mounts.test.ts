import { describe, expect, test } from 'vitest';
import type { VolumeMount } from '#api/gen/core-v1.ts';
import type { MountedVolume } from '#volumes/contract/volume-manager.ts';
import { containerMounts, decideSubPaths, type MountsInput, mountsHostsFile } from './container.ts';
import { BASE_CONTAINER, testPod } from './pod.fixture.ts';

const DATA: MountedVolume = { name: 'data', hostPath: '/pods/v/data', readOnly: false, seLinuxRelabel: true };
const MOUNT: VolumeMount = { name: 'data', mountPath: '/data' };

const input = (mounts: readonly VolumeMount[], extra: Partial<MountsInput> = {}): MountsInput => ({
  pod: testPod(),
  container: { ...BASE_CONTAINER, volumeMounts: mounts },
  volumes: new Map([['data', DATA]]),
  subPaths: new Map(),
  hostsFile: undefined,
  terminationLog: undefined,
  seLinux: false,
  ...extra,
});

describe('containerMounts', () => {
  test.each<[string, MountsInput, object]>([
    [
      'a volume',
      input([MOUNT]),
      {
        containerPath: '/data',
        hostPath: '/pods/v/data',
        readonly: false,
        selinuxRelabel: false,
        propagation: 'PROPAGATION_PRIVATE',
      },
    ],
    ['a relative path from the root', input([{ ...MOUNT, mountPath: 'data/' }]), { containerPath: '/data' }],
    ['a read-only mount', input([{ ...MOUNT, readOnly: true }]), { readonly: true }],
    [
      'a read-only volume',
      input([MOUNT], { volumes: new Map([['data', { ...DATA, readOnly: true }]]) }),
      { readonly: true },
    ],
    ['a relabelled volume', input([MOUNT], { seLinux: true }), { selinuxRelabel: true }],
    [
      'host to container',
      input([{ ...MOUNT, mountPropagation: 'HostToContainer' }]),
      { propagation: 'PROPAGATION_HOST_TO_CONTAINER' },
    ],
    [
      'both ways',
      input([{ ...MOUNT, mountPropagation: 'Bidirectional' }]),
      { propagation: 'PROPAGATION_BIDIRECTIONAL' },
    ],
    [
      'a subPath',
      input([{ ...MOUNT, subPath: 'a' }], { subPaths: new Map([[0, '/pods/sub/0']]) }),
      { hostPath: '/pods/sub/0' },
    ],
    [
      'the hosts file',
      input([], { hostsFile: '/pods/hosts' }),
      { containerPath: '/etc/hosts', hostPath: '/pods/hosts', readonly: false },
    ],
    [
      'the termination log',
      input([], { terminationLog: '/pods/last' }),
      { containerPath: '/dev/termination-log', hostPath: '/pods/last' },
    ],
  ])('makes %s', (_, mountsInput, expected) => {
    expect(containerMounts(mountsInput)).toMatchObject({ kind: 'ok', mounts: [expected] });
  });

  test.each<[string, MountsInput]>([
    ['a volume that is not there', input([{ ...MOUNT, name: 'other' }])],
    ['a subPath that is not prepared', input([{ ...MOUNT, subPath: 'a' }])],
    ['a subPathExpr that is not prepared', input([{ ...MOUNT, subPathExpr: '$(A)' }])],
  ])('rejects %s, which would mount something else', (_, mountsInput) => {
    expect(containerMounts(mountsInput)).toMatchObject({ kind: 'error' });
  });

  test('mounts no termination log where the path is empty', () => {
    const container = { ...BASE_CONTAINER, terminationMessagePath: '' };
    expect(containerMounts(input([], { container, terminationLog: '/pods/last' }))).toEqual({
      kind: 'ok',
      mounts: [],
    });
  });

  test('leaves /etc/hosts to a container that mounts its own', () => {
    const container = { volumeMounts: [{ ...MOUNT, mountPath: '/etc/hosts/' }] };
    expect(mountsHostsFile(container)).toBe(false);
    expect(mountsHostsFile({})).toBe(true);
    const result = containerMounts(input(container.volumeMounts, { hostsFile: '/pods/hosts' }));
    expect(result).toMatchObject({ mounts: [{ hostPath: '/pods/v/data' }] });
  });
});

describe('decideSubPaths', () => {
  const env = new Map([
    ['NAME', 'web'],
    ['UP', '../..'],
    ['ROOT', '/etc'],
  ]);
  const decide = (mount: Partial<VolumeMount>) =>
    decideSubPaths({ volumeMounts: [MOUNT, { ...MOUNT, ...mount }] }, env);

  test.each<[string, Partial<VolumeMount>, string[]]>([
    ['nothing', {}, []],
    ['an empty one', { subPath: '', subPathExpr: '' }, []],
    ['a plain one, unexpanded', { subPath: 'a/$(NAME)' }, ['a/$(NAME)']],
    ['an expanded one', { subPathExpr: 'logs/$(NAME)' }, ['logs/web']],
    ['an escaped one', { subPathExpr: '$$(NAME)' }, ['$(NAME)']],
    ['names with dots', { subPath: '..data/x..y' }, ['..data/x..y']],
  ])('finds %s', (_, mount, subPaths) => {
    const needs = subPaths.map((subPath) => ({ mountIndex: 1, volumeName: 'data', subPath }));
    expect(decide(mount)).toEqual({ kind: 'ok', needs });
  });

  test.each<[string, Partial<VolumeMount>]>([
    ['an unknown variable', { subPathExpr: '$(NONE)' }],
    ['a way up', { subPath: 'a/../../b' }],
    ['a way up in a variable', { subPathExpr: 'a/$(UP)' }],
    ['an absolute variable', { subPathExpr: '$(ROOT)' }],
  ])('rejects %s', (_, mount) => {
    expect(decide(mount)).toMatchObject({ kind: 'error' });
  });
});
