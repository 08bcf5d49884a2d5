import { describe, expect, test } from 'vitest';
import { CallRejection } from '#cri/server/rejection.ts';
import type { InspectedContainer } from '../client/parse.ts';
import { outcomeOf } from '../state/outcome.ts';
import { cgroupParentOf, cgroupPathOf } from './cgroup-parent.ts';
import { containerBody } from './container-body.ts';
import { containerNoteLabels, NODE_LABEL, parseNote, sandboxNoteLabels } from './labels.ts';
import { createConfigCodec } from './messages.ts';
import { containerName, sandboxName } from './names.ts';
import { dockerResources, oomScoreAdj } from './resources.ts';
import { sandboxBody } from './sandbox-body.ts';
import { securityOptions } from './security.ts';
import { requireSupportedContainer, requireSupportedSandbox } from './unsupported.ts';

const codec = createConfigCodec();
type Config = Parameters<typeof codec.encodeContainer>[0];
type SandboxInput = Parameters<typeof codec.encodeSandbox>[0];

function container(config: Config): Parameters<typeof requireSupportedContainer>[0] {
  const decoded = codec.decodeContainer(codec.encodeContainer(config));
  if (decoded === undefined) throw new Error('not decoded');
  return decoded;
}
function sandbox(config: SandboxInput): Parameters<typeof requireSupportedSandbox>[0] {
  const decoded = codec.decodeSandbox(codec.encodeSandbox(config));
  if (decoded === undefined) throw new Error('not decoded');
  return decoded;
}

const METADATA = { name: 'web', namespace: 'shop', uid: 'u-1', attempt: 2 };

describe('labels', () => {
  test('restore the configuration of a container, without what may be secret', () => {
    const config = container({
      metadata: { name: 'c', attempt: 1 },
      labels: { a: 'b' },
      command: ['x'],
      envs: [{ key: 'PASSWORD', value: 'hunter2' }],
    });
    const note = { sandboxId: 's', config, logPath: '/var/log/c.log' };
    const labels = containerNoteLabels(codec, 'n', note);
    expect(Buffer.from(JSON.stringify(Object.values(labels))).toString()).not.toContain(
      Buffer.from('hunter2').toString('base64').slice(0, 6),
    );
    expect(parseNote(codec, 'n', labels)).toMatchObject({
      kind: 'container',
      sandboxId: 's',
      logPath: '/var/log/c.log',
      config: { metadata: { name: 'c', attempt: 1 }, labels: { a: 'b' }, envs: [], command: [] },
    });
  });

  test.each([
    ['another node', { [NODE_LABEL]: 'other' }],
    ['no node', { [NODE_LABEL]: '' }],
    ['malformed configuration', { 'nodeagent.runtime.config': 'AAAA' }],
    ['an unknown kind', { 'nodeagent.runtime.kind': 'volume' }],
  ])('of %s are foreign', (_, changed) => {
    const note = { config: sandbox({ metadata: METADATA }), runtimeHandler: '', network: 'host' } as const;
    const labels = sandboxNoteLabels(codec, 'n', note);
    expect(parseNote(codec, 'n', labels)).toMatchObject({ kind: 'sandbox', network: 'host' });
    expect(parseNote(codec, 'n', { ...labels, ...changed })).toBeUndefined();
  });
});

describe('names', () => {
  test('are valid in docker and different for different metadata', () => {
    const names = [
      sandboxName('n', METADATA),
      sandboxName('m', METADATA),
      sandboxName('n', { ...METADATA, attempt: 3 }),
      sandboxName('n', { ...METADATA, name: 'we b' }),
      sandboxName('n', { ...METADATA, name: 'we-b' }),
      containerName('n', 'f'.repeat(64), METADATA, { name: 'c', attempt: 0 }),
      containerName('n', 'f'.repeat(64), METADATA, { name: 'c', attempt: 1 }),
    ];
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9][\w.-]+$/);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('unsupported options', () => {
  test.each<[string, Config]>([
    [
      'add_ambient_capabilities',
      { linux: { securityContext: { capabilities: { addAmbientCapabilities: ['X'] } } } },
    ],
    ['supplemental_groups_policy', { linux: { securityContext: { supplementalGroupsPolicy: 'Strict' } } }],
    [
      'userns_options',
      { linux: { securityContext: { namespaceOptions: { usernsOptions: { mode: 'POD' } } } } },
    ],
    ['CDI_devices', { CDIDevices: [{ name: 'v/c=d' }] }],
    ['unified', { linux: { resources: { unified: { 'memory.high': '1' } } } }],
    ['mounts[0].recursive_read_only', { mounts: [{ recursiveReadOnly: true }] }],
    ['mounts[0].image', { mounts: [{ image: { image: 'x' } }] }],
    ['mounts[0].uid_mappings', { mounts: [{ gidMappings: [{ length: 1 }] }] }],
    ['mounts[0].selinux_relabel', { mounts: [{ hostPath: '/a:b', selinuxRelabel: true }] }],
  ])('%s is rejected by its name', (name, config) => {
    expect(() => requireSupportedContainer(container(config))).toThrow(CallRejection);
    expect(() => requireSupportedContainer(container(config))).toThrow(name);
  });

  test('a user namespace of a pod is rejected by its name', () => {
    const config = sandbox({
      linux: { securityContext: { namespaceOptions: { usernsOptions: { mode: 'POD' } } } },
    });
    expect(() => requireSupportedSandbox(config)).toThrow('userns_options');
  });
});

describe('security options', () => {
  const all = { seccomp: true, apparmor: true };
  const of = (context: NonNullable<NonNullable<Config['linux']>['securityContext']>, support = all) =>
    securityOptions(container({ linux: { securityContext: context } }).linux?.securityContext, support);

  test.each([
    [{}, ['seccomp=unconfined'], undefined],
    [{ seccomp: { profileType: 'RuntimeDefault' } }, [], undefined],
    [{ seccompProfilePath: 'runtime/default' }, [], undefined],
    [{ seccomp: { profileType: 'Localhost', localhostRef: '/p.json' } }, [], '/p.json'],
    [{ privileged: true }, [], undefined],
    [
      { apparmorProfile: 'localhost/mine', seccompProfilePath: 'unconfined' },
      ['apparmor=mine', 'seccomp=unconfined'],
      undefined,
    ],
    [
      { apparmor: { profileType: 'Unconfined' }, noNewPrivs: true },
      ['apparmor=unconfined', 'no-new-privileges', 'seccomp=unconfined'],
      undefined,
    ],
    [
      { selinuxOptions: { level: 's0', type: 't' }, privileged: true },
      ['label=type:t', 'label=level:s0'],
      undefined,
    ],
  ] as const)('%j', (context, options, seccompFile) => {
    expect(of(context)).toEqual({ options, seccompFile });
  });

  test('a profile that docker cannot apply is rejected', () => {
    const none = { seccomp: false, apparmor: false };
    expect(() => of({ seccomp: { profileType: 'Localhost', localhostRef: '/p' } }, none)).toThrow(
      'no seccomp',
    );
    expect(() => of({ apparmorProfile: 'localhost/x' }, none)).toThrow('no AppArmor');
    expect(() => of({ seccompProfilePath: 'something' })).toThrow('unknown security profile');
  });
});

describe('cgroups', () => {
  test.each([
    ['cgroupfs', '/pods/burstable/podX', '/pods/burstable/podX', '/pods/burstable/podX/i'],
    [
      'systemd',
      '/pods.slice/pods-burstable.slice',
      'pods-burstable.slice',
      '/pods.slice/pods-burstable.slice/docker-i.scope',
    ],
    ['systemd', 'pods.slice', 'pods.slice', '/pods.slice/docker-i.scope'],
  ] as const)('%s: %s', (driver, parent, CgroupParent, path) => {
    expect(cgroupParentOf(parent, driver)).toEqual({ CgroupParent });
    expect(cgroupPathOf('i', parent, driver)).toBe(path);
  });

  test('a memory limit allows no swap unless given', () => {
    const { linux } = container({
      linux: { resources: { memoryLimitInBytes: 9n, cpuQuota: -1n, cpuShares: 2n } },
    });
    expect(dockerResources(linux?.resources)).toEqual({
      Memory: 9,
      MemorySwap: 9,
      CpuQuota: -1,
      CpuShares: 2,
    });
  });

  test('a score below that of the daemon is raised only where the daemon may not lower it', () => {
    expect(oomScoreAdj(-998n, undefined)).toBe(-998);
    expect(oomScoreAdj(-998n, 0)).toBe(0);
    expect(oomScoreAdj(900n, 0)).toBe(900);
  });
});

describe('bodies', () => {
  const common = {
    labels: {},
    security: { options: [] },
    resolvConf: '/r',
    cgroupDriver: 'cgroupfs',
    lowestOomScore: undefined,
    runtimeHandler: '',
  } as const;

  test('host ports are bindings of docker only in its own networks', () => {
    const config = sandbox({
      metadata: METADATA,
      hostname: 'web',
      portMappings: [
        { containerPort: 80, hostPort: 8080, protocol: 'TCP' },
        { containerPort: 80, hostPort: 8081, protocol: 'TCP', hostIp: '127.0.0.1' },
        { containerPort: 53, hostPort: 53, protocol: 'UDP' },
        { containerPort: 9, protocol: 'TCP' },
      ],
    });
    expect(sandboxBody({ ...common, config, image: 'p', network: 'docker' })).toMatchObject({
      Hostname: 'web',
      ExposedPorts: { '80/tcp': {}, '53/udp': {} },
      HostConfig: {
        PortBindings: {
          '80/tcp': [
            { HostIp: '', HostPort: '8080' },
            { HostIp: '127.0.0.1', HostPort: '8081' },
          ],
          '53/udp': [{ HostIp: '', HostPort: '53' }],
        },
        NetworkMode: 'default',
        OomScoreAdj: -998,
      },
    });
    const plugins = sandboxBody({ ...common, config, image: 'p', network: 'plugins' });
    expect(plugins).toMatchObject({ HostConfig: { NetworkMode: 'none' } });
    expect(plugins).not.toHaveProperty('ExposedPorts');
    const host = sandboxBody({ ...common, config, image: 'p', network: 'host' });
    expect(host).toMatchObject({ HostConfig: { NetworkMode: 'host', UTSMode: 'host' } });
    expect(host).not.toHaveProperty('Hostname');
  });

  test('a container joins the namespaces that its options say', () => {
    const body = (pid: 'NODE' | 'POD' | 'CONTAINER' | 'TARGET'): object =>
      containerBody({
        ...common,
        config: container({
          linux: {
            securityContext: { namespaceOptions: { network: 'POD', pid, ipc: 'POD', targetId: 't' } },
          },
          stopSignal: 'SIGRTMINPLUS3',
        }),
        sandboxId: 's',
        sandboxConfig: sandbox({}),
        selinux: false,
      });
    expect(body('POD')).toMatchObject({
      StopSignal: 'SIGRTMIN+3',
      HostConfig: { NetworkMode: 'container:s', IpcMode: 'container:s', PidMode: 'container:s' },
    });
    expect(body('NODE')).toMatchObject({ HostConfig: { PidMode: 'host' } });
    expect(body('TARGET')).toMatchObject({ HostConfig: { PidMode: 'container:t' } });
    expect(body('CONTAINER')).toMatchObject({ HostConfig: { PidMode: '' } });
  });
});

describe('outcomes', () => {
  const inspected: InspectedContainer = {
    id: 'i',
    labels: {},
    imageId: 'm',
    createdAtNs: 5n,
    status: 'exited',
    isRunning: false,
    pid: 0,
    exitCode: 0,
    isOomKilled: false,
    error: '',
    startedAtNs: 10n,
    finishedAtNs: 20n,
    addresses: [],
    writableBytes: undefined,
  };
  test.each([
    [{ isRunning: true }, { phase: 'running', finishedAtNs: 0n }],
    [{}, { phase: 'exited', reason: 'Completed', finishedAtNs: 20n }],
    [{ exitCode: 3 }, { phase: 'exited', reason: 'Error', exitCode: 3 }],
    [{ exitCode: 137, isOomKilled: true }, { reason: 'OOMKilled' }],
    [{ finishedAtNs: 7n }, { finishedAtNs: 10n }],
    [
      { status: 'created', startedAtNs: 0n },
      { phase: 'created', finishedAtNs: 0n },
    ],
    [
      { status: 'created', startedAtNs: 0n, error: 'no', exitCode: 127 },
      { phase: 'exited', reason: 'StartError', exitCode: 127 },
    ],
    [
      { status: 'created', startedAtNs: 0n, error: 'no', exitCode: 0 },
      { reason: 'StartError', exitCode: 128, message: 'no' },
    ],
  ])('case %#', (changed, outcome) => {
    expect(outcomeOf({ ...inspected, ...changed })).toMatchObject(outcome);
  });
});
