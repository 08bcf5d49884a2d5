import { describe, expect, test } from 'vitest';
import type { Node } from '#api/schema/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { adoptNode, initialNode, type NodeIdentityRules, withoutExtended } from './initial-node.ts';
import { decideLease } from './node-lease.ts';
import { nodeWords } from './words.ts';

const words = nodeWords(VOCABULARIES.plat);
const RULES: NodeIdentityRules = {
  words,
  nodeName: 'n1',
  hostname: 'n1',
  architecture: 'arm64',
  labels: {},
  taints: [],
  schedulable: true,
  providerID: '',
  externalProvider: false,
  wishedIP: '10.0.0.5',
  controllerAttaches: true,
  keepsVolumes: false,
};

describe('initialNode', () => {
  test('has the labels of the machine, over which those of the user go', () => {
    const { metadata, spec } = initialNode({ ...RULES, labels: { rack: '1', [words.labelOS]: 'mine' } });
    expect(metadata?.labels).toEqual({
      [words.labelArch]: 'arm64',
      [words.labelBetaArch]: 'arm64',
      [words.labelOS]: 'mine',
      [words.labelBetaOS]: 'linux',
      [words.labelHostname]: 'n1',
      rack: '1',
    });
    expect(metadata?.annotations).toEqual({ [words.annotationControllerAttaches]: 'true' });
    expect(spec).toEqual({});
  });

  const cordon = { key: words.taintUnschedulable, effect: 'NoSchedule' } as const;
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
        taints: [{ key: words.taintUninitialized, value: 'true', effect: 'NoSchedule' }],
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

test('initialNode tells a provider which address was wished', () => {
  const { metadata } = initialNode({ ...RULES, externalProvider: true });
  expect(metadata?.annotations).toHaveProperty([words.annotationProvidedIP], '10.0.0.5');
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
      labels: { theirs: '1', rack: 'old', [words.labelArch]: 'amd64' },
      annotations: { theirs: '1' },
    },
    spec: { taints: [{ key: 'b', effect: 'NoSchedule' }] },
  };

  test('brings what follows the machine, and leaves the rest', () => {
    const { metadata, spec } = adoptNode(existing, initial, words);
    expect(metadata?.labels).toMatchObject({ theirs: '1', rack: 'old', [words.labelArch]: 'arm64' });
    expect(metadata?.annotations).toEqual({ theirs: '1', [words.annotationControllerAttaches]: 'true' });
    expect(spec).toBe(existing.spec);
  });

  const zone = `topology.${VOCABULARIES.plat.domain}/zone`;
  test.each<readonly [string, Readonly<Record<string, string>>, Readonly<Record<string, string>>, object]>([
    ['changes a well-known one', { [zone]: 'a' }, { [zone]: 'b' }, { [zone]: 'b' }],
    ['takes away one that is to be empty', { [zone]: 'a' }, { [zone]: '' }, {}],
    ['leaves one that is no longer wished', { [zone]: 'a' }, {}, { [zone]: 'a' }],
    ['adds none of its own', {}, { rack: 'new' }, {}],
    ['changes none of its own', { rack: 'old' }, { rack: 'new' }, { rack: 'old' }],
  ])('of the labels of --node-labels %s', (_what, before, wished, after) => {
    const wishing = initialNode({ ...RULES, labels: wished });
    const others = initialNode(RULES).metadata?.labels;
    const node = { ...existing, metadata: { name: 'n1', labels: { ...others, ...before } } };
    expect(adoptNode(node, wishing, words).metadata?.labels).toEqual({ ...others, ...after });
  });

  test('takes back who attaches volumes', () => {
    const own = initialNode({ ...RULES, controllerAttaches: false });
    const { metadata } = adoptNode(adoptNode(existing, initial, words), own, words);
    expect(metadata?.annotations).toEqual({ theirs: '1' });
  });
});

describe('decideLease', () => {
  const rules = { apiVersion: words.leaseApiVersion, namespace: 'ns', nodeName: 'n1', durationSeconds: 40 };
  const node: Node = { metadata: { name: 'n1', uid: 'u1' } };
  const owner = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u1' };
  const now = Date.parse('2026-01-01T00:00:00.250Z');

  test('makes a lease that the node owns', () => {
    expect(decideLease(undefined, node, rules, now)).toEqual({
      apiVersion: words.leaseApiVersion,
      kind: 'Lease',
      metadata: { name: 'n1', namespace: 'ns', ownerReferences: [owner] },
      spec: { holderIdentity: 'n1', leaseDurationSeconds: 40, renewTime: '2026-01-01T00:00:00.250000Z' },
    });
  });

  test('renews one, whose node may be another by now', () => {
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

test('what is not the platform’s own is void where it was forgotten', () => {
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
