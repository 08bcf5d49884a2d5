/** Nodes and pods for tests of the scheduler, parsed like the real ones. */
import type { Node, Pod, PodSpec } from '#api/gen/core-v1.ts';
import type { ObjectMeta } from '#api/gen/meta-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createFleet, type Fleet, type Surroundings } from './fleet/fleet.ts';
import { schedulerLabelKeys } from './fleet/label-keys.ts';
import type { PodInfo, SchedulerLabelKeys } from './fleet/model.ts';
import { readNode } from './fleet/node-facts.ts';
import { createPodReader } from './fleet/pod-info.ts';
import { NO_VOLUMES } from './fleet/volumes.ts';

export const WORDS: SchedulerLabelKeys = schedulerLabelKeys(VOCABULARIES.plat);
export const ZONE: string = WORDS.zones[0] ?? '';
export const HOST: string = WORDS.hostname;

export interface NodeOptions {
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec?: Node['spec'];
  readonly allocatable?: Readonly<Record<string, string>>;
  readonly images?: NonNullable<Node['status']>['images'];
}

export function nodeObject(name: string, options: NodeOptions = {}): Node {
  const { labels = {}, spec = {}, allocatable = {}, images = [] } = options;
  return {
    metadata: { name, labels: { [HOST]: name, ...labels } },
    spec,
    status: { allocatable: { cpu: '4', memory: '8Gi', pods: '110', ...allocatable }, images },
  };
}

export interface PodOptions extends Partial<PodSpec> {
  readonly cpu?: string;
  readonly memory?: string;
  readonly metadata?: ObjectMeta;
  readonly status?: Pod['status'];
}

export function podObject(name: string, options: PodOptions = {}): Pod {
  const { cpu, memory, metadata = {}, status, ...spec } = options;
  const requests = {
    ...(cpu === undefined ? {} : { cpu }),
    ...(memory === undefined ? {} : { memory }),
  };
  return {
    metadata: { name, namespace: 'default', uid: `uid-${name}`, ...metadata },
    spec: { containers: [{ name: 'main', image: 'app', resources: { requests } }], ...spec },
    ...(status === undefined ? {} : { status }),
  };
}

/** Reads a pod; pods of one test need not share shapes. */
export const pod = (name: string, options: PodOptions = {}): PodInfo =>
  createPodReader()(podObject(name, options));

export function fleetOf(nodes: readonly Node[], surroundings: Partial<Surroundings> = {}): Fleet {
  const fleet = createFleet({
    labelKeys: WORDS,
    gates: new Set(),
    volumes: NO_VOLUMES,
    namespaceLabels: () => ({}),
    spreadSelector: () => undefined,
    ...surroundings,
  });
  for (const node of nodes) fleet.setNode(readNode(node, WORDS));
  return fleet;
}

/** A generator of the same numbers for the same seed, from 0 to below 1. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
