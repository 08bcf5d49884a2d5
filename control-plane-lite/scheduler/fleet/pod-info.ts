/** Parses the fields of a pod that scheduling reads. Pods of one template get the same shape. */

import type { Pod, PodAffinityTerm, PodSpec, TopologySpreadConstraint } from '#api/gen/core-v1.ts';
import type { LabelSelector } from '#api/gen/meta-v1.ts';
import { isMigratable } from '#api/meta/csi-migration.ts';
import { type Requirement, selectorRequirements } from '#api/meta/selectors.ts';
import { likelyUse, podRequests } from './amounts.ts';
import type {
  HostPort,
  OwnerRef,
  PodInfo,
  PodShape,
  PodTerm,
  SpreadConstraint,
  WeightedPodTerm,
} from './model.ts';
import { readNodeTerm } from './node-terms.ts';

/** Shapes that are remembered so that later pods share them. */
const MAX_SHAPES = 2000;

/** Ended pods use nothing. */
export const hasEnded = (phase: string | undefined): boolean => phase === 'Succeeded' || phase === 'Failed';

const requirements = (selector: LabelSelector | undefined): readonly Requirement[] | undefined =>
  selector === undefined ? undefined : selectorRequirements(selector);

function readTerm(term: PodAffinityTerm, own: string): PodTerm {
  const { namespaces = [], namespaceSelector } = term;
  const isOwn = namespaces.length === 0 && namespaceSelector === undefined;
  return {
    topologyKey: term.topologyKey,
    selector: requirements(term.labelSelector),
    namespaces: new Set(isOwn ? [own] : namespaces),
    namespaceSelector: requirements(namespaceSelector),
  };
}

function readPodTerms({ affinity }: PodSpec, own: string): readonly WeightedPodTerm[] {
  const { podAffinity, podAntiAffinity } = affinity ?? {};
  const read = (sign: number, from: typeof podAffinity): readonly WeightedPodTerm[] =>
    (from?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ weight, podAffinityTerm }) => ({
      weight: sign * weight,
      term: readTerm(podAffinityTerm, own),
    }));
  return [...read(1, podAffinity), ...read(-1, podAntiAffinity)];
}

function readPorts({ containers }: PodSpec): readonly HostPort[] {
  return containers.flatMap(({ ports = [] }) =>
    ports
      .filter(({ hostPort = 0 }) => hostPort > 0)
      .map(({ hostPort = 0, protocol = 'TCP', hostIP = '' }) => ({
        port: `${protocol}/${hostPort}`,
        address: hostIP === '' ? '0.0.0.0' : hostIP,
      })),
  );
}

/** `busybox` is listed by nodes as `busybox:latest`. */
function withTag(image: string): string {
  return image.lastIndexOf(':') <= image.lastIndexOf('/') ? `${image}:latest` : image;
}

function readSpread(
  { topologySpreadConstraints = [] }: PodSpec,
  when: TopologySpreadConstraint['whenUnsatisfiable'],
): readonly SpreadConstraint[] {
  return topologySpreadConstraints
    .filter(({ whenUnsatisfiable }) => whenUnsatisfiable === when)
    .map(({ maxSkew, topologyKey, labelSelector, minDomains = 1 }) => ({
      maxSkew,
      topologyKey,
      minDomains,
      selector: requirements(labelSelector),
    }));
}

type Claims = Pick<PodShape, 'claims' | 'madeClaims' | 'disks'>;

function readClaims({ volumes = [] }: PodSpec, podName: string): Claims {
  const madeClaims = volumes.flatMap(({ name, ephemeral }) =>
    ephemeral === undefined ? [] : [`${podName}-${name}`],
  );
  const others = volumes.flatMap(({ persistentVolumeClaim: claim }) =>
    claim === undefined ? [] : [claim.claimName],
  );
  return { claims: [...others, ...madeClaims], madeClaims, disks: volumes.filter(isMigratable) };
}

function controllerOf({ metadata }: Pod): OwnerRef | undefined {
  const found = metadata?.ownerReferences?.find(({ controller }) => controller === true);
  return found === undefined
    ? undefined
    : { apiVersion: found.apiVersion, kind: found.kind, name: found.name };
}

function readShape(pod: Pod, spec: PodSpec, claims: Claims): PodShape {
  const namespace = pod.metadata?.namespace ?? '';
  const { nodeAffinity, podAffinity, podAntiAffinity } = spec.affinity ?? {};
  const likely = likelyUse(spec);
  const terms = (from: typeof podAffinity): readonly PodTerm[] =>
    (from?.requiredDuringSchedulingIgnoredDuringExecution ?? []).map((term) => readTerm(term, namespace));
  return {
    namespace,
    labels: pod.metadata?.labels ?? {},
    priority: spec.priority ?? 0,
    mayPreempt: spec.preemptionPolicy !== 'Never',
    requests: podRequests(spec),
    likelyMilliCpu: likely.milliCpu,
    likelyMemoryBytes: likely.memoryBytes,
    hostPorts: readPorts(spec),
    nodeSelector: Object.entries(spec.nodeSelector ?? {}),
    requiredNodeTerms:
      nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms.map(readNodeTerm),
    preferredNodeTerms: (nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(
      ({ weight, preference }) => ({ weight, term: readNodeTerm(preference) }),
    ),
    tolerations: spec.tolerations ?? [],
    requiredAffinity: terms(podAffinity),
    requiredAntiAffinity: terms(podAntiAffinity),
    preferredPodTerms: readPodTerms(spec, namespace),
    hardSpread: readSpread(spec, 'DoNotSchedule'),
    softSpread: readSpread(spec, 'ScheduleAnyway'),
    images: spec.containers.map(({ image = '' }) => withTag(image)),
    containerCount: spec.containers.length,
    ...claims,
    owner: controllerOf(pod),
  };
}

/** Returns a key that is equal for pods of the same shape. */
function signatureOf(pod: Pod, spec: PodSpec, claims: Claims): string {
  const parts = (containers: PodSpec['initContainers'] = []): unknown =>
    containers.map(({ image, resources, ports }) => [image, resources?.requests, ports]);
  const { metadata = {} } = pod;
  return JSON.stringify([
    metadata.namespace,
    metadata.labels,
    controllerOf(pod),
    claims.claims,
    claims.madeClaims,
    claims.disks,
    spec.priority,
    spec.preemptionPolicy,
    spec.nodeSelector,
    spec.affinity,
    spec.tolerations,
    spec.topologySpreadConstraints,
    spec.overhead,
    parts(spec.containers),
    parts(spec.initContainers),
  ]);
}

function timeMs(text: string | undefined): number {
  const ms = Date.parse(text ?? '');
  return Number.isNaN(ms) ? 0 : ms;
}

export type ReadPod = (pod: Pod) => PodInfo;

/** Creates the reader, which caches shapes. */
export function createPodReader(): ReadPod {
  const shapes = new Map<string, PodShape>();

  function shapeOf(pod: Pod, spec: PodSpec): PodShape {
    const claims = readClaims(spec, pod.metadata?.name ?? '');
    const signature = signatureOf(pod, spec, claims);
    const known = shapes.get(signature);
    if (known !== undefined) return known;
    const made = readShape(pod, spec, claims);
    if (shapes.size >= MAX_SHAPES) {
      const [oldest] = shapes.keys();
      if (oldest !== undefined) shapes.delete(oldest);
    }
    shapes.set(signature, made);
    return made;
  }

  return (pod) => {
    const { metadata = {}, status = {}, spec = { containers: [] } } = pod;
    const name = metadata.name ?? '';
    const createdMs = timeMs(metadata.creationTimestamp);
    return {
      key: `${metadata.namespace ?? ''}/${name}`,
      uid: metadata.uid ?? '',
      name,
      shape: shapeOf(pod, spec),
      terminating: metadata.deletionTimestamp !== undefined,
      createdMs,
      startedMs: status.startTime === undefined ? createdMs : timeMs(status.startTime),
      nodeName: spec.nodeName ?? '',
      nominatedNodeName: status.nominatedNodeName ?? '',
    };
  };
}
