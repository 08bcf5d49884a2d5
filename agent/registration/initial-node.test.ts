import { describe, expect, test } from 'vitest';
import type { Node } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { adoptNode, initialNode, type NodeIdentityRules, withoutExtended } from './initial-node.ts';
import { decideLease } from './node-lease.ts';
import { nodeNames } from './node-names.ts';

const names = nodeNames(VOCABULARIES.plat);
const RULES: NodeIdentityRules = {
  names,
  nodeName: 'n1',
  hostname: 'n1',
  architecture: 'arm64',
  labels: {},
  taints: [],
  schedulable: true,
  providerID: '',
  externalProvider: false,
  requestedIP: '10.0.0.5',
  controllerAttaches: true,
  keepsVolumes: false,
};

describe('initialNode', () => {
  test('has the machine labels, overridden by those of the user', () => {
    const { metadata, spec } = initialNode({ ...RULES, labels: { rack: '1', [names.labelOS]: 'mine' } });
    expect(metadata?.labels).toEqual({
      [names.labelArch]: 'arm64',
      [names.labelBetaArch]: 'arm64',
      [names.labelOS]: 'mine',
      [names.labelBetaOS]: 'linux',
      [names.labelHostname]: 'n1',
      rack: '1',
    });
    expect(metadata?.annotations).toEqual({ [names.annotationControllerAttaches]: 'true' });
    expect(spec).toEqual({});
  });

  const cordon = { key: names.taintUnschedulable, effect: 'NoSchedule' } as const;
  test.each<readonly [string, Partial<NodeIdentityRules>, Node['spec']]>([
    ['is cordoned from the start', { schedulable: false }, { unschedulable: true, taints: [cordon] }],
    [
      'has no taint twice',
      { schedulable: false, taints: [cordon] },
      { unschedulable: true, taints: [cordon] },
    ],
    [
      'waits for its provider',
      { externalProvider: true, providerID: 'p://1' },
      {
        providerID: 'p://1',
        taints: [{ key: names.taintUninitialized, value: 'true', effect: 'NoSchedule' }],
      },
    ],
    [
      'has the taints wished',
      { taints: [{ key: 'a', effect: 'NoExecute' }] },
      { taints: [{ key: 'a', effect: 'NoExecute' }] },
    ],
  ])('%s', (_, rules, spec) => {
    expect(initialNode({ ...RULES, ...rules }).spec).toEqual(spec);
  });
});

test('initialNode annotates the requested address for a cloud provider', () => {
  const { metadata } = initialNode({ ...RULES, externalProvider: true });
  expect(metadata?.annotations).toHaveProperty([names.annotationProvidedIP], '10.0.0.5');
});

describe('adoptNode', () => {
  const initial = initialNode({
    ...RULES,
    labels: { rack: 'new' },
    taints: [{ key: 'a', effect: 'NoExecute' }],
  });
  const existing: Node = {
    metadata: {
      name: 'n1',
      labels: { theirs: '1', rack: 'old', [names.labelArch]: 'amd64' },
      annotations: { theirs: '1' },
    },
    spec: { taints: [{ key: 'b', effect: 'NoSchedule' }] },
  };

  test('updates the machine labels, and leaves the rest', () => {
    const { metadata, spec } = adoptNode(existing, initial, names);
    expect(metadata?.labels).toMatchObject({ theirs: '1', rack: 'old', [names.labelArch]: 'arm64' });
    expect(metadata?.annotations).toEqual({ theirs: '1', [names.annotationControllerAttaches]: 'true' });
    expect(spec).toBe(existing.spec);
  });

  const zone = `topology.${VOCABULARIES.plat.domain}/zone`;
  test.each<readonly [string, Readonly<Record<string, string>>, Readonly<Record<string, string>>, object]>([
    ['changes a well-known one', { [zone]: 'a' }, { [zone]: 'b' }, { [zone]: 'b' }],
    ['removes one with an empty value', { [zone]: 'a' }, { [zone]: '' }, {}],
    ['leaves one that is no longer wished', { [zone]: 'a' }, {}, { [zone]: 'a' }],
    ['adds none of its own', {}, { rack: 'new' }, {}],
    ['changes none of its own', { rack: 'old' }, { rack: 'new' }, { rack: 'old' }],
  ])('of the labels of --node-labels %s', (_what, before, requested, after) => {
    const requesting = initialNode({ ...RULES, labels: requested });
    const others = initialNode(RULES).metadata?.labels;
    const node = { ...existing, metadata: { name: 'n1', labels: { ...others, ...before } } };
    expect(adoptNode(node, requesting, names).metadata?.labels).toEqual({ ...others, ...after });
  });

  test('removes the attach-detach annotation', () => {
    const own = initialNode({ ...RULES, controllerAttaches: false });
    const { metadata } = adoptNode(adoptNode(existing, initial, names), own, names);
    expect(metadata?.annotations).toEqual({ theirs: '1' });
  });
});

describe('decideLease', () => {
  const rules = { apiVersion: names.leaseApiVersion, namespace: 'ns', nodeName: 'n1', durationSeconds: 40 };
  const node: Node = { metadata: { name: 'n1', uid: 'u1' } };
  const owner = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u1' };
  const now = Date.parse('2026-01-01T00:00:00.250Z');

  test('creates a lease owned by the node', () => {
    expect(decideLease(undefined, node, rules, now)).toEqual({
      apiVersion: names.leaseApiVersion,
      kind: 'Lease',
      metadata: { name: 'n1', namespace: 'ns', ownerReferences: [owner] },
      spec: { holderIdentity: 'n1', leaseDurationSeconds: 40, renewTime: '2026-01-01T00:00:00.250000Z' },
    });
  });

  test('renews a lease, with an updated owner', () => {
    const theirs = { apiVersion: 'v1', kind: 'ConfigMap', name: 'c', uid: 'u2' };
    const known = {
      metadata: { name: 'n1', resourceVersion: '5', ownerReferences: [{ ...owner, uid: 'old' }, theirs] },
      spec: { leaseTransitions: 2, holderIdentity: 'other' },
    };
    expect(decideLease(known, node, rules, now)).toMatchObject({
      metadata: { resourceVersion: '5', ownerReferences: [theirs, owner] },
      spec: { leaseTransitions: 2, holderIdentity: 'n1', leaseDurationSeconds: 40 },
    });
  });
});

test('extended resources are reset without a checkpoint', () => {
  const { domain } = VOCABULARIES.plat;
  const own = { cpu: '2', memory: '1Gi', 'hugepages-2Mi': '0', [`pods.${domain}/x`]: '1' };
  const list = { ...own, 'example.com/gpu': '3' };
  const node: Node = { metadata: { name: 'n1' }, status: { capacity: list, allocatable: list } };
  const left = { ...own, 'example.com/gpu': '0' };
  expect(withoutExtended(node, domain)).toEqual({
    ...node,
    status: { capacity: left, allocatable: left },
  });
  expect(withoutExtended({ metadata: {} }, domain)).toEqual({ metadata: {}, status: {} });
});
