/** Small plugins that are disabled by default. Source: optional plugins, document 2 §2.7; upstream's plugins
 *  LimitPodHardAntiAffinityTopology, NamespaceExists, AlwaysPullImages and SecurityContextDeny, release
 *  1.24. */

import type { Container, EphemeralContainer, Pod } from '#api/gen/core-v1.ts';
import { notFound } from '#api/meta/status-errors.ts';
import { typed } from '../resources/view.ts';
import type { AdmissionPlugin, AdmissionRequest } from './contract.ts';
import type { AdmissionDeps } from './deps.ts';
import { refusal } from './refusal.ts';
import { type PodSpec, setInSpec } from './spec-draft.ts';

const PODS: ReadonlySet<string> = new Set(['/pods']);

/** Returns the pod of a create or update request; `undefined` for subresources. */
const podOf = ({ object, subresource }: AdmissionRequest): Pod | undefined =>
  object === undefined || subresource !== '' ? undefined : typed<Pod>(object);

/** Pods may keep apart from others only by whole nodes: anything larger keeps others out. */
export function createAntiAffinityLimit({ vocabulary }: Pick<AdmissionDeps, 'vocabulary'>): AdmissionPlugin {
  const { labelHostname } = vocabulary;
  return {
    name: 'LimitPodHardAntiAffinityTopology',
    operations: ['CREATE', 'UPDATE'],
    resources: PODS,
    validate(request) {
      const required =
        podOf(request)?.spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
      const bad = required.find(({ topologyKey }) => topologyKey !== labelHostname);
      if (bad === undefined) return;
      throw refusal(
        request,
        `affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${bad.topologyKey} but only key ${labelHostname} is allowed`,
      );
    },
  };
}

/** Rejects requests in missing namespaces. */
export function createNamespaceExists({ objects }: Pick<AdmissionDeps, 'objects'>): AdmissionPlugin {
  const namespaces = objects('', 'namespaces');
  return {
    name: 'NamespaceExists',
    operations: ['CREATE', 'UPDATE', 'DELETE'],
    async validate({ resource, namespace }) {
      if (!resource.info.namespaced || namespace === '') return;
      if ((await namespaces.find(namespace)) === undefined)
        throw notFound({ group: '', name: 'namespaces' }, namespace);
    },
  };
}

/** The author of a pod must be able to pull its images, even if they are already present. */
export const alwaysPullImages: AdmissionPlugin = {
  name: 'AlwaysPullImages',
  operations: ['CREATE', 'UPDATE'],
  resources: PODS,
  mutate(request) {
    const spec = podOf(request)?.spec;
    if (spec === undefined || request.object === undefined) return;
    // A change of something else changes no policy.
    if (request.operation === 'UPDATE' && !hasNewImages(spec, request)) return;
    const pulling = <T extends Container | EphemeralContainer>(each: T): T => ({
      ...each,
      imagePullPolicy: 'Always',
    });
    setInSpec<PodSpec>(request.object, {
      containers: spec.containers.map(pulling),
      ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(pulling) }),
    });
  },
};

function hasNewImages(spec: PodSpec, { old }: AdmissionRequest): boolean {
  const before = old === undefined ? undefined : typed<Pod>(old).spec;
  const imagesOf = ({ containers, initContainers = [] }: PodSpec): ReadonlySet<string | undefined> =>
    new Set([...containers, ...initContainers].map(({ image }) => image));
  const known = before === undefined ? new Set<string | undefined>() : imagesOf(before);
  return [...imagesOf(spec)].some((image) => !known.has(image));
}

/** Rejects pods that specify their user. */
export const securityContextDeny: AdmissionPlugin = {
  name: 'SecurityContextDeny',
  operations: ['CREATE', 'UPDATE'],
  resources: PODS,
  validate(request) {
    const spec = podOf(request)?.spec;
    if (spec === undefined) return;
    for (const member of ['supplementalGroups', 'seLinuxOptions', 'runAsUser', 'fsGroup'] as const) {
      if (spec.securityContext?.[member] !== undefined) throw forbiddenIn(request, 'pod.Spec', member);
    }
    for (const { securityContext } of [...(spec.initContainers ?? []), ...spec.containers]) {
      for (const member of ['seLinuxOptions', 'runAsUser'] as const) {
        if (securityContext?.[member] !== undefined) throw forbiddenIn(request, '', member);
      }
    }
  },
};

function forbiddenIn(request: AdmissionRequest, where: string, member: string): Error {
  const path = where === '' ? 'SecurityContext' : `${where}.SecurityContext`;
  const name = member.charAt(0).toUpperCase() + member.slice(1);
  return refusal(request, `${path}.${name} is forbidden`);
}
