import { describe, expect, test } from 'vitest';
import type { Container, VolumeMount } from '#api/gen/core-v1.ts';
import type { MountedVolume } from '#volumes/contract/volume-manager.ts';
import { parseContainerLabels } from '../../pod-identity/labels.ts';
import {
  type ContainerInput,
  containerDevices,
  containerMounts,
  createContainerConfig,
  type DevicesInput,
  decideSubPaths,
  type MountsInput,
  mountsHostsFile,
} from './container.ts';
import { containerHash } from './hash.ts';
import { BASE_CONTAINER, OWNER, SETTINGS, testPod } from './pod.fixture.ts';

const input = (change: Partial<Container> = {}, extra: Partial<ContainerInput> = {}): ContainerInput => ({
  pod: testPod({}, change),
  container: { ...BASE_CONTAINER, ...change },
  kind: 'app',
  attempt: 4,
  owner: OWNER,
  image: { ref: 'sha256:0123', user: {} },
  env: new Map([['A', 'alpha']]),
  volumes: new Map(),
  subPaths: new Map(),
  hostsFile: '/pods/hosts',
  terminationLog: '/pods/last',
  settings: SETTINGS,
  ...extra,
});

const configOf = (containerInput: ContainerInput) => {
  const result = createContainerConfig(containerInput);
  if (result.kind === 'error') throw new Error(result.message);
  return result.config;
};

describe('createContainerConfig', () => {
  test('returns a complete configuration', () => {
    const change = { command: ['sh', '-c'], args: ['$(A)'], workingDir: '/srv', tty: true, stdin: true };
    expect(configOf(input(change))).toMatchObject({
      metadata: { name: 'app', attempt: 4 },
      image: { image: 'sha256:0123', userSpecifiedImage: 'busybox:1' },
      command: ['sh', '-c'],
      args: ['alpha'],
      workingDir: '/srv',
      envs: [{ key: 'A', value: 'alpha' }],
      mounts: [{ containerPath: '/etc/hosts' }, { containerPath: '/dev/termination-log' }],
      devices: [],
      logPath: 'app/4.log',
      stdin: true,
      stdinOnce: false,
      tty: true,
      linux: { resources: { oomScoreAdj: 1000n }, securityContext: { runAsUser: { value: 0n } } },
    });
  });

  test('writes labels and annotations that read back', () => {
    const change = { terminationMessagePath: '/dev/last', ports: [{ name: 'http', containerPort: 80 }] };
    const { labels = {}, annotations = {} } = configOf(input(change, { kind: 'init' }));
    const strings = (map: object): Record<string, string> =>
      Object.fromEntries(Object.entries(map).map(([key, value]) => [key, String(value)]));
    expect(parseContainerLabels(OWNER, strings(labels), strings(annotations))).toMatchObject({
      podUID: 'uid-1',
      containerName: 'app',
      kind: 'init',
      restartCount: 4,
      hash: containerHash({ ...BASE_CONTAINER, ...change }),
      terminationMessagePath: '/dev/last',
      ports: [{ name: 'http', containerPort: 80 }],
    });
  });

  test('adds the grant of the container, below its own variables', () => {
    const grant = {
      cpusetCpus: '1-2',
      cpusetMems: '0',
      devices: [{ hostPath: '/dev/a', containerPath: '/dev/b', permissions: 'rw' }],
      mounts: [{ hostPath: '/lib/a', containerPath: '/lib/b', readonly: true }],
      env: { A: 'theirs', B: 'beta' },
      annotations: { note: 'x' },
    };
    const config = configOf(input({}, { grant }));
    expect(config).toMatchObject({
      envs: [
        { key: 'A', value: 'alpha' },
        { key: 'B', value: 'beta' },
      ],
      mounts: [grant.mounts[0], { containerPath: '/etc/hosts' }, {}],
      devices: grant.devices,
      annotations: { note: 'x' },
      linux: { resources: { cpusetCpus: '1-2', cpusetMems: '0', oomScoreAdj: 1000n } },
    });
  });

  test('mounts the termination log at the path of the spec', () => {
    const { mounts } = configOf(input({ terminationMessagePath: '/tmp/last' }, { hostsFile: undefined }));
    expect(mounts).toMatchObject([{ containerPath: '/tmp/last', hostPath: '/pods/last' }]);
  });

  test('lets an ephemeral container join the processes of another', () => {
    const container = { name: 'debug', image: 'busybox:1', targetContainerName: 'app' };
    const config = configOf(input({}, { container, kind: 'ephemeral', targetContainerId: 'c1' }));
    expect(config.linux?.securityContext?.namespaceOptions).toMatchObject({ pid: 'TARGET', targetId: 'c1' });
  });

  test.each<[string, Partial<Container>]>([
    ['a root image where root is forbidden', { securityContext: { runAsNonRoot: true } }],
    ['an empty seccomp path', { securityContext: { seccompProfile: { type: 'Localhost' } } }],
    ['a volume that is missing', { volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
  ])('is an error with %s', (_, change) => {
    expect(createContainerConfig(input(change))).toMatchObject({
      kind: 'error',
      reason: 'CreateContainerConfigError',
    });
  });
});

const DATA: MountedVolume = { name: 'data', hostPath: '/pods/v/data', readOnly: false, seLinuxRelabel: true };
const MOUNT: VolumeMount = { name: 'data', mountPath: '/data' };

const mountsInput = (mounts: readonly VolumeMount[], extra: Partial<MountsInput> = {}): MountsInput => ({
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
      mountsInput([MOUNT]),
      {
        containerPath: '/data',
        hostPath: '/pods/v/data',
        readonly: false,
        selinuxRelabel: false,
        propagation: 'PROPAGATION_PRIVATE',
      },
    ],
    [
      'a relative path from the root',
      mountsInput([{ ...MOUNT, mountPath: 'data/' }]),
      { containerPath: '/data' },
    ],
    ['a read-only mount', mountsInput([{ ...MOUNT, readOnly: true }]), { readonly: true }],
    [
      'a read-only volume',
      mountsInput([MOUNT], { volumes: new Map([['data', { ...DATA, readOnly: true }]]) }),
      { readonly: true },
    ],
    ['a relabelled volume', mountsInput([MOUNT], { seLinux: true }), { selinuxRelabel: true }],
    [
      'host to container',
      mountsInput([{ ...MOUNT, mountPropagation: 'HostToContainer' }]),
      { propagation: 'PROPAGATION_HOST_TO_CONTAINER' },
    ],
    [
      'both ways',
      mountsInput([{ ...MOUNT, mountPropagation: 'Bidirectional' }]),
      { propagation: 'PROPAGATION_BIDIRECTIONAL' },
    ],
    [
      'a subPath',
      mountsInput([{ ...MOUNT, subPath: 'a' }], { subPaths: new Map([[0, '/pods/sub/0']]) }),
      { hostPath: '/pods/sub/0' },
    ],
    [
      'the hosts file',
      mountsInput([], { hostsFile: '/pods/hosts' }),
      { containerPath: '/etc/hosts', hostPath: '/pods/hosts', readonly: false },
    ],
    [
      'the termination log',
      mountsInput([], { terminationLog: '/pods/last' }),
      { containerPath: '/dev/termination-log', hostPath: '/pods/last' },
    ],
  ])('makes %s', (_, wanted, expected) => {
    expect(containerMounts(wanted)).toMatchObject({ kind: 'ok', mounts: [expected] });
  });

  test.each<[string, MountsInput]>([
    ['a volume that is not there', mountsInput([{ ...MOUNT, name: 'other' }])],
    ['a subPath that is not prepared', mountsInput([{ ...MOUNT, subPath: 'a' }])],
    ['a subPathExpr that is not prepared', mountsInput([{ ...MOUNT, subPathExpr: '$(A)' }])],
  ])('rejects %s, which would mount something else', (_, wanted) => {
    expect(containerMounts(wanted)).toMatchObject({ kind: 'error' });
  });

  test('mounts no termination log where the path is empty', () => {
    const container = { ...BASE_CONTAINER, terminationMessagePath: '' };
    expect(containerMounts(mountsInput([], { container, terminationLog: '/pods/last' }))).toEqual({
      kind: 'ok',
      mounts: [],
    });
  });

  test('leaves /etc/hosts to a container that mounts its own', () => {
    const container = { volumeMounts: [{ ...MOUNT, mountPath: '/etc/hosts/' }] };
    expect(mountsHostsFile(container)).toBe(false);
    expect(mountsHostsFile({})).toBe(true);
    const result = containerMounts(mountsInput(container.volumeMounts, { hostsFile: '/pods/hosts' }));
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

const DISK: MountedVolume = {
  name: 'disk',
  hostPath: '/pods/p/volumeDevices/x/disk',
  readOnly: false,
  seLinuxRelabel: false,
};

const devicesInput = (devicePath: string, disk: MountedVolume = DISK): DevicesInput => ({
  container: { name: 'app', volumeDevices: [{ name: 'disk', devicePath }] },
  volumes: new Map([['disk', disk]]),
});

describe('containerDevices', () => {
  test.each<[string, DevicesInput, object]>([
    [
      'everything of a device',
      devicesInput('/dev/xvda'),
      { containerPath: '/dev/xvda', hostPath: DISK.hostPath, permissions: 'mrw' },
    ],
    ['a read-only device', devicesInput('/dev/xvda', { ...DISK, readOnly: true }), { permissions: 'r' }],
    ['a relative path from the root', devicesInput('dev/xvda'), { containerPath: '/dev/xvda' }],
  ])('gives %s', (_, given, expected) => {
    expect(containerDevices(given)).toMatchObject({ kind: 'ok', devices: [expected] });
  });

  test('returns none for a container without block volumes', () => {
    expect(containerDevices({ container: { name: 'app' }, volumes: new Map() })).toEqual({
      kind: 'ok',
      devices: [],
    });
  });

  test('reports an unmapped device', () => {
    expect(containerDevices({ ...devicesInput('/dev/x'), volumes: new Map() })).toEqual({
      kind: 'error',
      message: 'block volume disk of container app is not mapped',
    });
  });
});
