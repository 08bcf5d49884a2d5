/** Each filter: rejected pods and nodes, and messages. */
import { describe, expect, test } from 'vitest';
import type { Node } from '#api/gen/core-v1.ts';
import { findNode } from './find-node.ts';
import { formatFailure } from './messages.ts';
import { fleetOf, HOST, nodeObject, type PodOptions, pod, WORDS, ZONE } from './scheduler.fixture.ts';

const taint = (key: string, effect: 'NoSchedule' | 'NoExecute' | 'PreferNoSchedule', value = ''): object => ({
  spec: { taints: [{ key, value, effect }] },
});

/** The message for users, or the node's name. */
function place(
  options: PodOptions,
  nodes: readonly Node[],
  there: readonly [string, PodOptions][] = [],
  gates: readonly string[] = [],
): string {
  const fleet = fleetOf(nodes, { gates: new Set(gates) });
  for (const [index, [node, other]] of there.entries()) fleet.addPod(pod(`there-${index}`, other), node);
  const decision = findNode(pod('new', options), fleet, { random: () => 0, start: 0 });
  return decision.kind === 'node'
    ? decision.node.name
    : formatFailure(decision.failure.total, decision.failure.refusals);
}

const none = (reason: string): string => `0/1 nodes are available: 1 ${reason}.`;
const n1 = nodeObject('n1');
const port = (hostPort: number, hostIP = '', protocol: 'TCP' | 'UDP' = 'TCP'): PodOptions => ({
  containers: [{ name: 'c', ports: [{ containerPort: 80, hostPort, hostIP, protocol }] }],
});
const vast = nodeObject('n1', { allocatable: { memory: '9007199254740993' } });
const most = nodeObject('n1', { allocatable: { memory: '9223372036854775807' } });
const gpu = { containers: [{ name: 'c', resources: { requests: { 'vendor.example/gpu': '2' } } }] };

test('usage is that of the remaining pods, however much others used', () => {
  const fleet = fleetOf([most]);
  const [small, huge] = [pod('small', { memory: '3' }), pod('huge', { memory: '9223372036854775804' })];
  fleet.addPod(huge, 'n1');
  fleet.addPod(small, 'n1');
  const full = findNode(pod('new', { memory: '1' }), fleet, { random: () => 0, start: 0 });
  expect(full.kind).not.toBe('node');
  fleet.removePod(huge.key);
  const kindOf = (memory: string): string =>
    findNode(pod('new', { memory }), fleet, { random: () => 0, start: 0 }).kind;
  expect([kindOf('9223372036854775804'), kindOf('9223372036854775805')]).toEqual(['node', full.kind]);
});

describe('findNode takes', () => {
  test.each<[string, PodOptions, Node, PodOptions?]>([
    ['a pod without requests', {}, n1],
    ['a pod that just fits', { cpu: '4', memory: '8Gi' }, n1],
    ['a pod that fits beside others', { cpu: '3' }, n1, { cpu: '1' }],
    ['extended resources', gpu, nodeObject('n1', { allocatable: { 'vendor.example/gpu': '2' } })],
    ['the last byte of very many', { memory: '1' }, vast, { memory: '9007199254740992' }],
    ['all of the most that there is', { memory: '9223372036854775807' }, most],
    ['another port', port(80), n1, port(81)],
    ['the same port of another protocol', port(80), n1, port(80, '', 'UDP')],
    ['the same port of another address', port(80, '10.0.0.1'), n1, port(80, '10.0.0.2')],
    [
      'a tolerated taint',
      { tolerations: [{ key: 'a', operator: 'Exists' }] },
      nodeObject('n1', taint('a', 'NoSchedule')),
    ],
    [
      'everything tolerated',
      { tolerations: [{ operator: 'Exists' }] },
      nodeObject('n1', taint('a', 'NoExecute')),
    ],
    ['a taint that only states a preference', {}, nodeObject('n1', taint('a', 'PreferNoSchedule'))],
    [
      'a cordoned node, tolerated',
      { tolerations: [{ key: WORDS.unschedulableTaint, operator: 'Exists' }] },
      nodeObject('n1', { spec: { unschedulable: true } }),
    ],
    ['a selected label', { nodeSelector: { disk: 'ssd' } }, nodeObject('n1', { labels: { disk: 'ssd' } })],
    [
      'the first of pods that want to be together',
      { metadata: { namespace: 'default', labels: { app: 'a' } }, affinity: near('a') },
      n1,
    ],
  ])('%s', (_, options, node, there) => {
    expect(place(options, [node], there === undefined ? [] : [['n1', there]])).toBe('n1');
  });
});

function near(app: string, topologyKey = HOST): NonNullable<PodOptions['affinity']> {
  const term = { labelSelector: { matchLabels: { app } }, topologyKey };
  return { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
}

function apart(app: string, topologyKey = HOST): NonNullable<PodOptions['affinity']> {
  const term = { labelSelector: { matchLabels: { app } }, topologyKey };
  return { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
}

const labelled = (app: string, options: PodOptions = {}): PodOptions => ({
  metadata: { namespace: 'default', labels: { app } },
  ...options,
});

const nodeTerm = (key: string, operator: 'In' | 'Gt' | 'DoesNotExist', ...values: string[]): PodOptions => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key, operator, values }] }],
      },
    },
  },
});

describe('findNode refuses', () => {
  test.each<[string, PodOptions, Node, PodOptions | undefined, string]>([
    ['too much CPU', { cpu: '4001m' }, n1, undefined, 'Insufficient cpu'],
    ['too much beside others', { memory: '5Gi' }, n1, { memory: '4Gi' }, 'Insufficient memory'],
    [
      'a byte more than very many',
      { memory: '2' },
      vast,
      { memory: '9007199254740992' },
      'Insufficient memory',
    ],
    [
      'a byte beside the most',
      { memory: '1' },
      most,
      { memory: '9223372036854775807' },
      'Insufficient memory',
    ],
    ['extended resources that are not there', gpu, n1, undefined, 'Insufficient vendor.example/gpu'],
    ['one pod too many', {}, nodeObject('n1', { allocatable: { pods: '1' } }), {}, 'Too many pods'],
    [
      'the larger of init containers',
      { initContainers: [{ name: 'i', resources: { requests: { cpu: '5' } } }] },
      n1,
      undefined,
      'Insufficient cpu',
    ],
    ['overhead', { cpu: '4', overhead: { cpu: '1m' } }, n1, undefined, 'Insufficient cpu'],
    [
      'local storage',
      { containers: [{ name: 'c', resources: { requests: { 'ephemeral-storage': '1Gi' } } }] },
      n1,
      undefined,
      'Insufficient ephemeral-storage',
    ],
    [
      'a port that is taken',
      port(80),
      n1,
      port(80),
      "node(s) didn't have free ports for the requested pod ports",
    ],
    [
      'a port of every address',
      port(80),
      n1,
      port(80, '10.0.0.1'),
      "node(s) didn't have free ports for the requested pod ports",
    ],
    [
      'a port of one address',
      port(80, '10.0.0.1'),
      n1,
      port(80),
      "node(s) didn't have free ports for the requested pod ports",
    ],
    [
      'a taint',
      {},
      nodeObject('n1', taint('a', 'NoSchedule', 'b')),
      undefined,
      'node(s) had untolerated taint {a: b}',
    ],
    [
      'a taint with another value',
      { tolerations: [{ key: 'a', value: 'c' }] },
      nodeObject('n1', taint('a', 'NoExecute', 'b')),
      undefined,
      'node(s) had untolerated taint {a: b}',
    ],
    [
      'a cordoned node',
      {},
      nodeObject('n1', { spec: { unschedulable: true } }),
      undefined,
      'node(s) were unschedulable',
    ],
    [
      'another node than the named',
      { nodeName: 'n2' },
      n1,
      undefined,
      "node(s) didn't match the requested node name",
    ],
    [
      'a label that is missing',
      { nodeSelector: { disk: 'ssd' } },
      n1,
      undefined,
      "node(s) didn't match Pod's node affinity/selector",
    ],
    [
      'a number that is too small',
      nodeTerm('cores', 'Gt', '8'),
      nodeObject('n1', { labels: { cores: '8' } }),
      undefined,
      "node(s) didn't match Pod's node affinity/selector",
    ],
    [
      'a label that must not be',
      nodeTerm(HOST, 'DoesNotExist'),
      n1,
      undefined,
      "node(s) didn't match Pod's node affinity/selector",
    ],
    [
      'to be far from others',
      labelled('b', { affinity: near('a') }),
      n1,
      labelled('c'),
      "node(s) didn't match pod affinity rules",
    ],
    [
      'to be near others',
      labelled('b', { affinity: apart('a') }),
      n1,
      labelled('a'),
      "node(s) didn't match pod anti-affinity rules",
    ],
    [
      'to be near those who keep apart',
      labelled('b'),
      n1,
      labelled('a', { affinity: apart('b') }),
      "node(s) didn't satisfy existing pods anti-affinity rules",
    ],
    [
      'a claim that is not there',
      { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }] },
      n1,
      undefined,
      'persistentvolumeclaim "data" not found',
    ],
  ])('%s', (_, options, node, there, reason) => {
    expect(place(options, [node], there === undefined ? [] : [['n1', there]])).toBe(none(reason));
  });

  test('with the reasons counted and in order', () => {
    const nodes = [
      nodeObject('n1', { allocatable: { cpu: '100m' } }),
      nodeObject('n2', taint('a', 'NoSchedule')),
      nodeObject('n3', taint('a', 'NoSchedule')),
    ];
    expect(place({ cpu: '1' }, nodes)).toBe(
      '0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint {a: }.',
    );
  });
});

describe('places', () => {
  const zoned = ['a', 'a', 'b'].map((zone, index) =>
    nodeObject(`n${index + 1}`, { labels: { [ZONE]: zone } }),
  );

  test('affinity is about a place, not a node', () => {
    const decided = place(
      labelled('x', { affinity: near('y', ZONE), nodeSelector: { [HOST]: 'n2' } }),
      zoned,
      [['n1', labelled('y')]],
    );
    expect(decided).toBe('n2');
    expect(place(labelled('x', { affinity: apart('y', ZONE) }), zoned, [['n1', labelled('y')]])).toBe('n3');
  });

  const spread = (maxSkew: number): PodOptions =>
    labelled('x', {
      topologySpreadConstraints: [
        {
          maxSkew,
          topologyKey: ZONE,
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: { matchLabels: { app: 'x' } },
        },
      ],
    });

  test('spread takes the place with fewer pods', () => {
    expect(place(spread(1), zoned, [['n1', labelled('x')]])).toBe('n3');
  });

  test('spread does not count pods that are on their way out', () => {
    const leaving = labelled('x');
    const gone = { ...leaving, metadata: { ...leaving.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    const blocked = nodeObject('n3', { labels: { [ZONE]: 'b' }, spec: { unschedulable: true } });
    const nodes = [zoned[0] ?? n1, blocked];
    expect(place(spread(1), nodes, [['n1', gone]])).toBe('n1');
    expect(place(spread(1), nodes, [['n1', leaving]])).toBe(
      "0/2 nodes are available: 1 node(s) didn't match pod topology spread constraints, 1 node(s) were unschedulable.",
    );
  });

  test.each([
    [
      ['MinDomainsInPodTopologySpread'],
      /^0\/2 nodes are available: 2 node\(s\) didn't match pod topology spread constraints\.$/,
    ],
    [[], /^n\d$/],
  ] as const)('spread over fewer domains than asked for, with the gates %j', (gates, result) => {
    const wanted = (minDomains: number): PodOptions => {
      const { topologySpreadConstraints: [constraint] = [], ...rest } = spread(1);
      return constraint === undefined
        ? rest
        : { ...rest, topologySpreadConstraints: [{ ...constraint, minDomains }] };
    };
    const there: readonly [string, PodOptions][] = [
      ['n1', labelled('x')],
      ['n3', labelled('x')],
    ];
    const nodes = [zoned[0] ?? n1, zoned[2] ?? n1];
    const decided = (minDomains: number): string => place(wanted(minDomains), nodes, [...there], gates);
    expect(decided(2)).toMatch(/^n\d$/);
    expect(decided(3)).toMatch(result);
  });

  test('spread needs the label', () => {
    expect(place(spread(1), [n1])).toBe(
      none("node(s) didn't match pod topology spread constraints (missing required label)"),
    );
  });
});
