/** Volumes of a pod's claims: reachable nodes and the binding of unbound claims. */
import { describe, expect, test } from 'vitest';
import type { PersistentVolume, PersistentVolumeClaim, VolumeNodeAffinity } from '#api/gen/core-v1.ts';
import type { CSIStorageCapacity, StorageClass } from '#api/gen/storage-v1.ts';
import { findNode } from '../find-node.ts';
import { formatFailure } from '../messages.ts';
import { fleetOf, HOST, type NodeOptions, nodeObject, pod, WORDS, ZONE } from '../scheduler.fixture.ts';
import { chooseVolumes } from './claims.ts';
import type { PodInfo } from './model.ts';
import { NO_LIMITS, NO_PLUGINS, type Volumes } from './volumes.ts';

const claim = (
  name: string,
  spec: PersistentVolumeClaim['spec'] = {},
  phase?: 'Bound',
): PersistentVolumeClaim => ({
  metadata: { name, namespace: 'default' },
  spec: {
    storageClassName: 'late',
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '1Gi' } },
    ...spec,
  },
  ...(phase === undefined ? {} : { status: { phase } }),
});

const onNode = (name: string): VolumeNodeAffinity => ({
  required: { nodeSelectorTerms: [{ matchExpressions: [{ key: HOST, operator: 'In', values: [name] }] }] },
});

const volume = (
  name: string,
  spec: PersistentVolume['spec'] = {},
  labels: Readonly<Record<string, string>> = {},
): PersistentVolume => ({
  metadata: { name, labels },
  spec: {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    storageClassName: 'late',
    ...spec,
  },
});

const CLASSES: readonly StorageClass[] = [
  { metadata: { name: 'late' }, provisioner: WORDS.noProvisioner, volumeBindingMode: 'WaitForFirstConsumer' },
  { metadata: { name: 'made' }, provisioner: 'vendor.example', volumeBindingMode: 'WaitForFirstConsumer' },
  { metadata: { name: 'early' }, provisioner: 'vendor.example', volumeBindingMode: 'Immediate' },
];

const MIGRATION = { domain: 'x.io', gates: new Set(['CSIMigration', 'CSIMigrationAWS']) };

function volumesOf(
  claims: readonly PersistentVolumeClaim[],
  volumes: readonly PersistentVolume[],
  reserved: Readonly<Record<string, string>> = {},
  limits: ReadonlyMap<string, number> = new Map(),
): Volumes {
  return {
    claim: (key) => claims.find(({ metadata }) => key === `default/${metadata?.name ?? ''}`),
    volume: (name) => volumes.find(({ metadata }) => metadata?.name === name),
    volumesOfClass: (name) => volumes.filter(({ spec }) => spec?.storageClassName === name),
    storageClass: (name) => CLASSES.find(({ metadata }) => metadata?.name === name),
    reportsCapacity: () => false,
    capacitiesOfClass: () => [],
    reservedFor: (name) => reserved[name],
    limits: (name) => (name === 'n1' ? limits : NO_LIMITS),
    migration: MIGRATION,
    migrates: (name) => (name === 'n1' ? new Set([`${MIGRATION.domain}/aws-ebs`]) : NO_PLUGINS),
  };
}

function place(claims: readonly PersistentVolumeClaim[], volumes: Volumes): string {
  const nodes = [
    nodeObject('n1', { labels: { [ZONE]: 'a' } }),
    nodeObject('n2', { labels: { [ZONE]: 'b' } }),
  ];
  const fleet = fleetOf(nodes, { volumes });
  const incoming = pod('new', {
    volumes: claims.map(({ metadata }, index) => ({
      name: `v${index}`,
      persistentVolumeClaim: { claimName: metadata?.name ?? '' },
    })),
  });
  const decision = findNode(incoming, fleet, { random: () => 0.99, start: 0 });
  return decision.kind === 'node' ? decision.node.name : formatFailure(2, decision.failure.refusals);
}

const both = (reason: string): string => `0/2 nodes are available: 2 ${reason}.`;

describe('a pod with claims goes', () => {
  test.each<[string, PersistentVolumeClaim, readonly PersistentVolume[], string]>([
    [
      'where its volume can be reached',
      claim('c', { volumeName: 'v' }, 'Bound'),
      [volume('v', { nodeAffinity: onNode('n2') })],
      'n2',
    ],
    [
      'into the zone of its volume',
      claim('c', { volumeName: 'v' }, 'Bound'),
      [volume('v', {}, { [ZONE]: 'b' })],
      'n2',
    ],
    [
      'into one of the zones',
      claim('c', { volumeName: 'v' }, 'Bound'),
      [volume('v', {}, { [ZONE]: 'x__b' })],
      'n2',
    ],
    [
      'nowhere if no node reaches it',
      claim('c', { volumeName: 'v' }, 'Bound'),
      [volume('v', { nodeAffinity: onNode('n3') })],
      both('node(s) had volume node affinity conflict'),
    ],
    [
      'nowhere if its zone has no node',
      claim('c', { volumeName: 'v' }, 'Bound'),
      [volume('v', {}, { [ZONE]: 'c' })],
      both('node(s) had no available volume zone'),
    ],
    [
      'nowhere if its volume is gone',
      claim('c', { volumeName: 'v' }, 'Bound'),
      [],
      both('node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)'),
    ],
    [
      'nowhere before a claim is bound that does not wait',
      claim('c', { storageClassName: 'early' }),
      [],
      both('pod has unbound immediate PersistentVolumeClaims'),
    ],
    [
      'where there is a volume for a claim that waits',
      claim('c'),
      [volume('v', { nodeAffinity: onNode('n2') })],
      'n2',
    ],
    ['where one can be made', claim('c', { storageClassName: 'made' }), [], 'n1'],
    [
      'nowhere if there is none',
      claim('c'),
      [volume('v', { capacity: { storage: '1Mi' } })],
      both("node(s) didn't find available persistent volumes to bind"),
    ],
  ])('%s', (_, wanted, volumes, expected) => {
    expect(place([wanted], volumesOf([wanted], volumes))).toBe(expected);
  });

  test.each<[string, PersistentVolumeClaim['metadata'] | undefined, string]>([
    ['that is made for it', { uid: 'uid-new' }, 'n1'],
    [
      'that was made for another',
      { uid: 'uid-old' },
      both('PVC default/new-v was not created for pod default/new (pod is not owner)'),
    ],
    [
      'that is still to be made',
      undefined,
      both('waiting for ephemeral volume controller to create the persistentvolumeclaim "new-v"'),
    ],
  ])('or not, with a claim %s', (_, owner, expected) => {
    const reference = { apiVersion: 'v1', kind: 'Pod', name: 'new', uid: owner?.uid ?? '', controller: true };
    const { metadata, ...rest } = claim('new-v', { storageClassName: 'made' });
    const claims =
      owner === undefined ? [] : [{ ...rest, metadata: { ...metadata, ownerReferences: [reference] } }];
    const fleet = fleetOf([nodeObject('n1'), nodeObject('n2')], { volumes: volumesOf(claims, []) });
    const incoming = pod('new', {
      volumes: [{ name: 'v', ephemeral: { volumeClaimTemplate: { spec: {} } } }],
    });
    const decision = findNode(incoming, fleet, { random: () => 0.99, start: 0 });
    expect(decision.kind === 'node' ? decision.node.name : formatFailure(2, decision.failure.refusals)).toBe(
      expected,
    );
  });

  test('nowhere if two claims would need the same volume', () => {
    const claims = [claim('c1'), claim('c2')];
    expect(place(claims, volumesOf(claims, [volume('v')]))).toBe(
      both("node(s) didn't find available persistent volumes to bind"),
    );
  });
});

describe('a node with as many volumes as it can have', () => {
  const csi = (name: string): PersistentVolume =>
    volume(name, { csi: { driver: 'vendor.example', volumeHandle: name } });
  const bound = (name: string): PersistentVolumeClaim => claim(name, { volumeName: name }, 'Bound');
  const claims = [bound('a'), bound('b'), claim('new', { storageClassName: 'made' })];
  const volumes = volumesOf(claims, [csi('a'), csi('b')], {}, new Map([['vendor.example', 1]]));
  const using = (name: string, claimName: string): PodInfo =>
    pod(name, { volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }] });

  test.each([
    ['a', 'n1'],
    ['b', '0/1 nodes are available: 1 node(s) exceed max volume count.'],
    ['new', '0/1 nodes are available: 1 node(s) exceed max volume count.'],
  ])('with %s: %s', (name, expected) => {
    const fleet = fleetOf([nodeObject('n1')], { volumes });
    fleet.addPod(using('there', 'a'), 'n1');
    const decision = findNode(using('incoming', name), fleet, { random: () => 0, start: 0 });
    expect(decision.kind === 'node' ? 'n1' : formatFailure(1, decision.failure.refusals)).toBe(expected);
  });
});

describe('volumes of older sources, with room for one of their driver', () => {
  const ebs = (volumeID: string) => ({ awsElasticBlockStore: { volumeID } });
  const inline = (name: string, volumeID: string): PodInfo =>
    pod(name, { volumes: [{ name: 'v', ...ebs(volumeID) }] });
  const claiming = (name: string): PodInfo =>
    pod(name, { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'a' } }] });
  const volumes = volumesOf(
    [claim('a', { volumeName: 'a' }, 'Bound')],
    [volume('a', ebs('vol-a'))],
    {},
    new Map([['ebs.csi.aws.com', 1]]),
  );
  const full = '0/1 nodes are available: 1 node(s) exceed max volume count.';

  test.each<[string, PodInfo, PodInfo, string, string]>([
    [
      'a claim counts beside one that a pod names',
      inline('there', 'vol-b'),
      claiming('incoming'),
      'n1',
      full,
    ],
    [
      'one that a pod names counts beside a claim',
      claiming('there'),
      inline('incoming', 'vol-b'),
      'n1',
      full,
    ],
    ['the same volume counts once', claiming('there'), inline('incoming', 'aws://z/vol-a'), 'n1', 'n1'],
    [
      'nothing counts where a node serves them itself',
      claiming('there'),
      inline('incoming', 'vol-b'),
      'n2',
      'n2',
    ],
    [
      'an inline volume of a driver does not count as attached',
      inline('there', 'vol-b'),
      pod('incoming', { volumes: [{ name: 'v', csi: { driver: 'ebs.csi.aws.com' } }] }),
      'n1',
      'n1',
    ],
  ])('%s', (_, there, incoming, node, expected) => {
    const limits = (): ReadonlyMap<string, number> => volumes.limits('n1');
    const fleet = fleetOf([nodeObject(node)], { volumes: { ...volumes, limits } });
    fleet.addPod(there, node);
    const decision = findNode(incoming, fleet, { random: () => 0, start: 0 });
    expect(decision.kind === 'node' ? node : formatFailure(1, decision.failure.refusals)).toBe(expected);
  });

  test('a claim that waits counts for the driver that its provisioner is left to', () => {
    const classes = { provisioner: 'x.io/aws-ebs', volumeBindingMode: 'WaitForFirstConsumer' } as const;
    const waiting = claim('later', { storageClassName: 'old' });
    const all = volumesOf([waiting, claim('a', { volumeName: 'a' }, 'Bound')], [volume('a', ebs('vol-a'))]);
    const fleet = fleetOf([nodeObject('n1')], {
      volumes: {
        ...all,
        limits: () => new Map([['ebs.csi.aws.com', 1]]),
        storageClass: () => ({ metadata: { name: 'old' }, ...classes }),
      },
    });
    fleet.addPod(claiming('there'), 'n1');
    const incoming = pod('incoming', {
      volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'later' } }],
    });
    const decision = findNode(incoming, fleet, { random: () => 0, start: 0 });
    expect(decision.kind === 'node' ? 'n1' : formatFailure(1, decision.failure.refusals)).toBe(full);
  });
});

describe('disks of clouds that a node attaches itself', () => {
  const [stable = '', older = ''] = WORDS.instanceTypes;
  const domain = MIGRATION.domain;
  /** Volumes of one pod, each with a disk of its own. */
  const disks = {
    EBS: (id: string) => ({ awsElasticBlockStore: { volumeID: id } }),
    GCE: (id: string) => ({ gcePersistentDisk: { pdName: id } }),
    Azure: (id: string) => ({ azureDisk: { diskName: id, diskURI: `/disks/${id}` } }),
    Cinder: (id: string) => ({ cinder: { volumeID: id } }),
  } as const;
  type CloudName = keyof typeof disks;
  const having = (cloud: CloudName, count: number, stem = 'd'): PodInfo =>
    pod(stem, {
      volumes: Array.from({ length: count }, (_, at) => ({
        name: `v${at}`,
        ...disks[cloud](`${stem}${at}`),
      })),
    });
  const full = '0/1 nodes are available: 1 node(s) exceed max volume count.';

  function placed(
    there: readonly PodInfo[],
    incoming: PodInfo,
    options: NodeOptions & { volumes?: Volumes } = {},
  ): string {
    const { volumes = { ...volumesOf([], []), migrates: () => NO_PLUGINS } } = options;
    const fleet = fleetOf([nodeObject('n1', options)], { volumes });
    for (const one of there) fleet.addPod(one, 'n1');
    const decision = findNode(incoming, fleet, { random: () => 0, start: 0 });
    return decision.kind === 'node' ? 'n1' : formatFailure(1, decision.failure.refusals);
  }

  test.each<[CloudName, number, NodeOptions, string]>([
    ['EBS', 39, {}, 'aws-ebs'],
    ['EBS', 25, { labels: { [stable]: 'm5.large' } }, 'aws-ebs'],
    ['EBS', 25, { labels: { [older]: 't3.micro' } }, 'aws-ebs'],
    ['EBS', 39, { labels: { [stable]: 'm4.large' } }, 'aws-ebs'],
    ['GCE', 16, {}, 'gce-pd'],
    ['Azure', 16, {}, 'azure-disk'],
    ['Cinder', 256, {}, 'cinder'],
    ['GCE', 3, { allocatable: { 'attachable-volumes-gce-pd': '3' } }, 'gce-pd'],
    [
      'EBS',
      60,
      { allocatable: { 'attachable-volumes-aws-ebs': '60' }, labels: { [stable]: 'c5.large' } },
      'aws-ebs',
    ],
  ])(
    '%s: %i of them, on %j; as many as the driver has where they are left to one',
    (cloud, most, node, plugin) => {
      const there = having(cloud, most - 1, 'there');
      expect(placed([there], having(cloud, 1), node)).toBe('n1');
      expect(placed([there], having(cloud, 2), node)).toBe(full);
      // Existing volumes count once.
      expect(placed([having(cloud, most, 'd')], having(cloud, 1, 'd'), node)).toBe('n1');
      const others = (Object.keys(disks) as CloudName[]).filter((name) => name !== cloud);
      for (const other of others) expect(placed([there], having(other, 2), node)).toBe('n1');
      const left = { ...volumesOf([], []), migrates: () => new Set([`${domain}/${plugin}`]) };
      expect(placed([there], having(cloud, 2), { ...node, volumes: left })).toBe('n1');
    },
  );

  test('claims count by their volume, or by their class until they have one', () => {
    const classes: Readonly<Record<string, string>> = { disks: `${domain}/gce-pd`, others: 'vendor.example' };
    const claims = [
      claim('bound', { volumeName: 'pv' }, 'Bound'),
      claim('later', { storageClassName: 'disks' }),
      claim('lost', { storageClassName: 'disks', volumeName: 'gone' }),
      claim('other', { storageClassName: 'others' }),
    ];
    const volumes: Volumes = {
      ...volumesOf(claims, [volume('pv', disks.GCE('d0'))]),
      migrates: () => NO_PLUGINS,
      storageClass: (name) => ({
        metadata: { name },
        provisioner: classes[name] ?? '',
        volumeBindingMode: 'Immediate',
      }),
    };
    const of = (claimName: string, name = claimName): PodInfo =>
      pod(name, { volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }] });
    const two = { allocatable: { 'attachable-volumes-gce-pd': '2' }, volumes };
    const one = having('GCE', 1);
    expect(placed([one, of('bound')], having('GCE', 1, 'x'), two)).toBe('n1');
    expect(placed([one, of('later')], having('GCE', 1, 'x'), two)).toBe(full);
    expect(placed([one, of('lost')], having('GCE', 1, 'x'), two)).toBe(full);
    expect(placed([one, of('other')], having('GCE', 1, 'x'), two)).toBe('n1');
    expect(placed([one, having('GCE', 1, 'x')], of('bound'), two)).toBe('n1');
  });
});

describe('chooseVolumes', () => {
  const fleet = fleetOf([nodeObject('n1')]);
  const [node] = fleet.nodes;
  const choose = (wanted: PersistentVolumeClaim, volumes: Volumes): string | undefined => {
    const storageClass = CLASSES[0];
    if (node === undefined || storageClass === undefined) return undefined;
    const chosen = chooseVolumes([{ claim: wanted, storageClass }], node, { volumes, labelKeys: WORDS });
    const [choice] = typeof chosen === 'string' ? [] : chosen;
    return choice?.kind === 'volume' ? choice.volume.metadata?.name : undefined;
  };
  const big = volume('big', { capacity: { storage: '5Gi' } });
  const small = volume('small', { capacity: { storage: '2Gi' } });

  test('takes the smallest that is large enough', () => {
    expect(choose(claim('c'), volumesOf([], [big, small]))).toBe('small');
    const wanted = claim('c', { resources: { requests: { storage: '3Gi' } } });
    expect(choose(wanted, volumesOf([], [big, small]))).toBe('big');
  });

  test.each<[string, PersistentVolumeClaim, PersistentVolume]>([
    ['of another mode', claim('c', { volumeMode: 'Block' }), small],
    ['with other access', claim('c', { accessModes: ['ReadWriteMany'] }), small],
    ['without the labels', claim('c', { selector: { matchLabels: { a: 'b' } } }), small],
    ['that is for another claim', claim('c'), volume('v', { claimRef: { namespace: 'default', name: 'd' } })],
  ])('takes none %s', (_, wanted, found) => {
    expect(choose(wanted, volumesOf([], [found]))).toBeUndefined();
  });

  test('takes none that was just chosen for another', () => {
    expect(choose(claim('c'), volumesOf([], [small], { small: 'default/d' }))).toBeUndefined();
    expect(choose(claim('c'), volumesOf([], [small], { small: 'default/c' }))).toBe('small');
  });
});

describe('capacity that a driver reports', () => {
  const made = claim('c', { storageClassName: 'made' });
  const at = (zone: string, capacity: string, maximumVolumeSize?: string): CSIStorageCapacity => ({
    metadata: { name: zone },
    storageClassName: 'made',
    nodeTopology: { matchLabels: { [ZONE]: zone } },
    capacity,
    ...(maximumVolumeSize === undefined ? {} : { maximumVolumeSize }),
  });
  const NO_SPACE = both('node(s) did not have enough free storage');

  test.each<[string, boolean, readonly CSIStorageCapacity[], string]>([
    ['where there is enough', true, [at('a', '1Mi'), at('b', '1Gi')], 'n2'],
    ['where a volume may be as large', true, [at('a', '5Gi', '1Mi'), at('b', '5Gi', '1Gi')], 'n2'],
    ['nowhere if there is too little', true, [at('a', '1Mi'), at('b', '1Mi')], NO_SPACE],
    ['nowhere before it is reported', true, [], NO_SPACE],
    ['nowhere for other nodes', true, [at('c', '5Gi')], NO_SPACE],
    ['anywhere for a driver that reports none', false, [], 'n1'],
  ])('sends a pod %s', (_, reportsCapacity, capacities, expected) => {
    const volumes: Volumes = {
      ...volumesOf([made], []),
      reportsCapacity: () => reportsCapacity,
      capacitiesOfClass: () => capacities,
    };
    expect(place([made], volumes)).toBe(expected);
  });
});

describe('feature gates of claims', () => {
  const using = (name: string, claimName: string): PodInfo =>
    pod(name, { volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }] });

  test.each([
    [true, 'ReadWriteOncePod', false],
    [true, 'ReadWriteOnce', true],
    [false, 'ReadWriteOncePod', true],
  ] as const)('ReadWriteOncePod is %s: a second pod with a claim of %s: %s', (isOn, mode, isPlaced) => {
    const single = claim('c', { volumeName: 'v', accessModes: [mode] }, 'Bound');
    const gates = new Set(isOn ? ['ReadWriteOncePod'] : []);
    const volumes = volumesOf([single], [volume('v')]);
    const fleet = fleetOf([nodeObject('n1'), nodeObject('n2')], { volumes, gates });
    const first = using('first', 'c');
    fleet.addPod(first, 'n1');
    const decided = (): string => {
      const decision = findNode(using('second', 'c'), fleet, { random: () => 0, start: 0 });
      return decision.kind === 'node' ? 'placed' : formatFailure(2, decision.failure.refusals);
    };
    const refusal = both(
      'node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode',
    );
    expect(decided()).toBe(isPlaced ? 'placed' : refusal);
    fleet.removePod(first.key);
    expect(decided()).toBe('placed');
  });

  test.each([
    [true, 'n2'],
    [false, 'n1'],
  ])('VolumeCapacityPriority is %s: a claim goes to %s, where its volume fits', (isOn, expected) => {
    const wanted = claim('c');
    const gates = new Set(isOn ? ['VolumeCapacityPriority'] : []);
    const volumes = volumesOf(
      [wanted],
      [
        volume('large', { capacity: { storage: '100Gi' }, nodeAffinity: onNode('n1') }),
        volume('small', { capacity: { storage: '2Gi' }, nodeAffinity: onNode('n2') }),
      ],
    );
    const fleet = fleetOf([nodeObject('n1'), nodeObject('n2')], { volumes, gates });
    const decision = findNode(using('new', 'c'), fleet, { random: () => 0.99, start: 0 });
    expect(decision.kind === 'node' ? decision.node.name : '').toBe(expected);
  });
});
