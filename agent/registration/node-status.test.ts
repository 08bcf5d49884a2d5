import { describe, expect, test } from 'vitest';
import type { Node, NodeCondition } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { MACHINE } from '../machine/machine.fixture.ts';
import { decideImages } from './node-images.ts';
import { nodeNames } from './node-names.ts';
import { decideStatus, type StatusInputs, type StatusRules } from './node-status.ts';

const RULES: StatusRules = {
  names: nodeNames(VOCABULARIES.plat),
  agentVersion: 'v1',
  externalProvider: false,
  serverPort: 10250,
  addresses: { nodeIP: '', hostname: 'n1' },
  resources: {
    maxPods: 110,
    podsPerCore: 0,
    systemReserved: {},
    platReserved: {},
    reservedSystemCPUs: '',
    evictionHard: {},
    ignoreEviction: false,
    localStorage: true,
  },
};
const INPUTS: StatusInputs = {
  facts: MACHINE,
  runtimeVersion: 'containerd://1.6.20',
  troubles: [],
  pressure: { memory: false, disk: false, pid: false },
};
const NODE: Node = { metadata: { name: 'n1' } };
const T0 = Date.parse('2026-01-01T00:00:00Z');
const T1 = T0 + 60_000;

const typed = (conditions: readonly NodeCondition[] | undefined, type: string) =>
  conditions?.find((condition) => condition.type === type);
const first = decideStatus(NODE, INPUTS, RULES, T0);
const known: Node = { ...NODE, status: first.status };

describe('decideStatus', () => {
  test('returns the full status of a new node', () => {
    expect(first.status).toMatchObject({
      addresses: [
        { type: 'InternalIP', address: '10.0.0.5' },
        { type: 'Hostname', address: 'n1' },
      ],
      daemonEndpoints: { nodeAgentEndpoint: { Port: 10250 } },
      nodeInfo: {
        bootID: 'boot-1',
        nodeAgentVersion: 'v1',
        platProxyVersion: 'v1',
        operatingSystem: 'linux',
      },
    });
    const about = { lastHeartbeatTime: '2026-01-01T00:00:00Z', lastTransitionTime: '2026-01-01T00:00:00Z' };
    expect(first.status.conditions).toEqual([
      {
        type: 'MemoryPressure',
        status: 'False',
        ...about,
        reason: 'NodeAgentHasSufficientMemory',
        message: 'nodeagent has sufficient memory available',
      },
      {
        type: 'DiskPressure',
        status: 'False',
        ...about,
        reason: 'NodeAgentHasNoDiskPressure',
        message: 'nodeagent has no disk pressure',
      },
      {
        type: 'PIDPressure',
        status: 'False',
        ...about,
        reason: 'NodeAgentHasSufficientPID',
        message: 'nodeagent has sufficient PID available',
      },
      {
        type: 'Ready',
        status: 'True',
        ...about,
        reason: 'NodeAgentReady',
        message: 'nodeagent is posting ready status',
      },
    ]);
  });

  test('updates the transition time only with the status of a condition, and emits an event', () => {
    const pressed = { ...INPUTS, troubles: ['a', 'b'], pressure: { memory: true, disk: false, pid: false } };
    const { status, events } = decideStatus(known, pressed, RULES, T1);
    const at = '2026-01-01T00:01:00Z';
    expect(typed(status.conditions, 'Ready')).toMatchObject({
      status: 'False',
      reason: 'NodeAgentNotReady',
      message: '[a, b]',
      lastTransitionTime: at,
    });
    expect(typed(status.conditions, 'MemoryPressure')).toMatchObject({
      status: 'True',
      reason: 'NodeAgentHasInsufficientMemory',
      lastTransitionTime: at,
    });
    expect(typed(status.conditions, 'DiskPressure')).toMatchObject({
      lastHeartbeatTime: at,
      lastTransitionTime: '2026-01-01T00:00:00Z',
    });
    expect(events).toEqual([
      {
        type: 'Normal',
        reason: 'NodeHasInsufficientMemory',
        message: 'Node n1 status is now: NodeHasInsufficientMemory',
      },
      { type: 'Normal', reason: 'NodeNotReady', message: 'Node n1 status is now: NodeNotReady' },
    ]);
  });

  test('leaves conditions of others in place', () => {
    const theirs = { type: 'NetworkUnavailable', status: 'False' };
    const node = { ...NODE, status: { conditions: [theirs] } };
    expect(decideStatus(node, INPUTS, RULES, T1).status.conditions?.[0]).toBe(theirs);
  });

  test.each([
    [
      'a disk that cannot be read',
      { ...MACHINE, rootBytes: undefined },
      /missing node capacity.*ephemeral-storage/,
    ],
    [
      'no address',
      { ...MACHINE, network: { ...MACHINE.network, defaultRoutes: [] } },
      /no interface with a default route/,
    ],
  ])('is not ready with %s', (_, { rootBytes, ...rest }, message) => {
    const facts = rootBytes === undefined ? rest : { ...rest, rootBytes };
    const ready = typed(decideStatus(NODE, { ...INPUTS, facts }, RULES, T0).status.conditions, 'Ready');
    expect(ready).toMatchObject({ status: 'False', message: expect.stringMatching(message) as unknown });
  });

  test('retains addresses and images while they are unknown', () => {
    const facts = { ...MACHINE, network: { ...MACHINE.network, defaultRoutes: [] } };
    const status = { ...first.status, images: [{ names: ['a'] }], volumesInUse: ['v'] };
    const next = decideStatus({ ...NODE, status }, { ...INPUTS, facts }, RULES, T1).status;
    expect(next).toMatchObject({ addresses: status.addresses, images: status.images, volumesInUse: ['v'] });
  });

  test('leaves addresses that an external provider has set', () => {
    const rules = { ...RULES, externalProvider: true };
    const addresses = [{ type: 'ExternalIP', address: '203.0.113.1' }];
    const node = { ...NODE, status: { addresses } };
    expect(decideStatus(node, INPUTS, rules, T0).status.addresses).toEqual(addresses);
    expect(decideStatus(NODE, INPUTS, rules, T0).status.addresses).toEqual(first.status.addresses);
  });

  test('emits one event for a reboot', () => {
    const facts = { ...MACHINE, bootID: 'boot-2' };
    const { status, events } = decideStatus(known, { ...INPUTS, facts }, RULES, T1);
    expect(events).toEqual([
      { type: 'Warning', reason: 'Rebooted', message: 'Node n1 has been rebooted, boot id: boot-2' },
    ]);
    expect(decideStatus({ ...NODE, status }, { ...INPUTS, facts }, RULES, T1).events).toEqual([]);
  });

  test('reports AppArmor', () => {
    const facts = { ...MACHINE, appArmor: true };
    const { conditions } = decideStatus(NODE, { ...INPUTS, facts }, RULES, T0).status;
    expect(typed(conditions, 'Ready')?.message).toBe('nodeagent is posting ready status. AppArmor enabled');
  });

  test('reports the limit of attachable volumes as capacity and allocatable', () => {
    const attachLimits = (type: string): Readonly<Record<string, string>> => ({
      'attachable-volumes-x': type,
    });
    const labels = { [RULES.names.instanceTypes[1] ?? '']: '25' };
    const node = { ...NODE, metadata: { ...NODE.metadata, labels } };
    const { capacity, allocatable } = decideStatus(node, INPUTS, { ...RULES, attachLimits }, T0).status;
    expect([capacity?.['attachable-volumes-x'], allocatable?.['attachable-volumes-x']]).toEqual(['25', '25']);
    // Values of others stay where the agent reports none.
    const others = { ...NODE, status: { capacity: capacity ?? {} } };
    expect(decideStatus(others, INPUTS, RULES, T0).status.allocatable?.['attachable-volumes-x']).toBe('25');
  });

  test('has no port without a server', () => {
    const { serverPort: _, ...rules } = RULES;
    expect(decideStatus(NODE, INPUTS, rules, T0).status).not.toHaveProperty('daemonEndpoints');
  });
});

describe('decideImages', () => {
  const images = [
    { digests: ['a@sha256:1'], tags: ['a:1', 'a:2', 'a:3', 'a:4', 'a:5'], sizeBytes: 10 },
    { digests: [], tags: [], sizeBytes: 0 },
    { digests: ['c@sha256:3'], tags: ['c:1'], sizeBytes: 30 },
  ];
  test.each([
    [-1, ['c@sha256:3', 'a@sha256:1', undefined]],
    [1, ['c@sha256:3']],
    [0, []],
  ])('reports the %d largest', (most, names) => {
    expect(decideImages(images, most).map((image) => image.names?.[0])).toEqual(names);
  });

  test('reports five names of an image, and omits unknown sizes', () => {
    const [, second, third] = decideImages(images, -1);
    expect(second?.names).toEqual(['a@sha256:1', 'a:1', 'a:2', 'a:3', 'a:4']);
    expect(third).toEqual({});
  });
});
