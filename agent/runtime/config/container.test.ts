import { describe, expect, test } from 'vitest';
import type { Container } from '#api/gen/core-v1.ts';
import { parseContainerLabels } from '../../pod-identity/labels.ts';
import { type ContainerInput, createContainerConfig } from './container.ts';
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
