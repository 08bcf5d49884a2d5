/** Pod security admission: enforces the level of the namespace's labels, warns, or adds audit annotations.
 *  Source: PodSecurity, document 2 §2.7; upstream's plugin, release 1.24. */
import { isDeepStrictEqual } from 'node:util';
import type { Pod } from '#api/gen/core-v1.ts';
import { isMutableObject } from '#api/kit/object.ts';
import { invalid } from '#api/meta/status-errors.ts';
import type { ApiObject } from '../resources/contract.ts';
import { typed } from '../resources/view.ts';
import type { AdmissionPlugin, AdmissionRequest } from './contract.ts';
import type { AdmissionDeps } from './deps.ts';
import { NO_POD_SECURITY, type PodSecurityConfig } from './pod-security/config.ts';
import { violationsOf } from './pod-security/evaluate.ts';
import { formatLevel, isPrivileged, labelErrors, MODES, type Mode, policyOf } from './pod-security/levels.ts';
import { refusal } from './refusal.ts';

/** Workloads that create pods: only warned about, because their pods are rejected themselves. */
const TEMPLATES = [
  '/podtemplates',
  '/replicationcontrollers',
  'apps/replicasets',
  'apps/deployments',
  'apps/statefulsets',
  'apps/daemonsets',
  'batch/jobs',
  'batch/cronjobs',
];

const memberOf = (value: unknown, name: string): unknown =>
  isMutableObject(value) ? value[name] : undefined;

/** Returns the pod that an object creates; `undefined` if it creates none. */
function templateOf(object: ApiObject, plural: string): Pod | undefined {
  const { spec } = object;
  const place =
    plural === 'podtemplates'
      ? object['template']
      : plural === 'cronjobs'
        ? memberOf(memberOf(memberOf(spec, 'jobTemplate'), 'spec'), 'template')
        : memberOf(spec, 'template');
  return isMutableObject(place) ? place : undefined;
}

export function createPodSecurity(
  { vocabulary, objects }: Pick<AdmissionDeps, 'vocabulary' | 'objects'>,
  { defaults, exempt }: PodSecurityConfig = NO_POD_SECURITY,
): AdmissionPlugin {
  const namespaces = objects('', 'namespaces');

  /** Reason of the exemption. */
  function exemptionOf({ namespace, user }: AdmissionRequest, { spec }: Pod): string | undefined {
    if (exempt.namespaces.has(namespace)) return 'namespace';
    if (exempt.users.has(user.name)) return 'user';
    return exempt.runtimeClasses.has(spec?.runtimeClassName ?? '') ? 'runtimeClass' : undefined;
  }

  function look(request: AdmissionRequest, pod: Pod, modes: readonly Mode[], before?: Pod): void {
    const labels = namespaces.get(request.namespace)?.labels ?? {};
    const policy = policyOf(labels, vocabulary, defaults);
    if (isPrivileged(policy)) return;
    // Existing pods are not checked until an update changes them.
    if (before !== undefined && isDeepStrictEqual(pod.spec, before.spec)) return;
    const exemption = exemptionOf(request, pod);
    if (exemption !== undefined) {
      request.annotate(`pod-security.${vocabulary.domain}/exempt`, exemption);
      return;
    }
    for (const mode of modes) {
      const error = violationsOf(pod, policy[mode], vocabulary);
      if (error === undefined) continue;
      const text = `violates PodSecurity ${JSON.stringify(formatLevel(policy[mode]))}: ${error}`;
      if (mode === 'enforce') throw refusal(request, text);
      if (mode === 'warn') request.warn(`would ${text.replace(/^violates/, 'violate')}`);
      else
        request.annotate(
          `pod-security.${vocabulary.domain}/audit-violations`,
          `would ${text.replace(/^violates/, 'violate')}`,
        );
    }
  }

  function lookAtPod(request: AdmissionRequest, object: ApiObject): void {
    const before = request.old === undefined ? undefined : typed<Pod>(request.old);
    look(request, typed<Pod>(object), MODES, before);
  }

  function lookAtNamespace(request: AdmissionRequest, { metadata }: ApiObject): void {
    const errors = labelErrors(metadata.labels ?? {}, vocabulary);
    const same = isDeepStrictEqual(metadata.labels, request.old?.metadata.labels);
    if (errors.length > 0 && !same)
      throw invalid({ group: '', name: 'Namespace' }, metadata.name ?? '', errors);
  }

  return {
    name: 'PodSecurity',
    operations: ['CREATE', 'UPDATE'],
    resources: new Set(['/pods', '/namespaces', ...TEMPLATES]),
    validate(request) {
      const { object, subresource, resource } = request;
      if (object === undefined) return;
      const { plural } = resource.info;
      if (plural === 'pods') {
        if (subresource === '' || subresource === 'ephemeralcontainers') lookAtPod(request, object);
        return;
      }
      if (subresource !== '') return;
      if (plural === 'namespaces') {
        lookAtNamespace(request, object);
        return;
      }
      const pod = templateOf(object, plural);
      if (pod !== undefined) look(request, pod, ['audit', 'warn']);
    },
  };
}
