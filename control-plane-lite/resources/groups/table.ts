/** Strategies of all kinds outside the core group. */
import { VOCABULARIES, type Vocabulary } from '#api/vocabulary.ts';
import type { KindEntry, KindTable } from '../contract.ts';
import {
  mutatingWebhookConfiguration,
  validatingWebhookConfiguration,
} from './admissionregistration/webhook-configuration.ts';
import {
  createCustomResourceDefinition,
  type DefinitionDeps,
} from './apiextensions/custom-resource-definition.ts';
import { apiService } from './apiregistration/api-service.ts';
import { controllerRevision } from './apps/controller-revision.ts';
import { daemonSet } from './apps/daemon-set.ts';
import { deployment } from './apps/deployment.ts';
import { replicaSet } from './apps/replica-set.ts';
import { statefulSet } from './apps/stateful-set.ts';
import { horizontalPodAutoscaler } from './autoscaling/horizontal-pod-autoscaler.ts';
import { horizontalPodAutoscalerV1 } from './autoscaling/horizontal-pod-autoscaler-v1.ts';
import { horizontalPodAutoscalerV2beta1 } from './autoscaling/horizontal-pod-autoscaler-v2beta1.ts';
import { cronJob } from './batch/cron-job.ts';
import { job } from './batch/job.ts';
import { certificateSigningRequest } from './certificates/certificate-signing-request.ts';
import { lease } from './coordination/lease.ts';
import { endpointSlice, endpointSliceV1beta1 } from './discovery/endpoint-slice.ts';
import { event, eventV1beta1 } from './events/event.ts';
import { flowSchema } from './flowcontrol/flow-schema.ts';
import { priorityLevelConfiguration } from './flowcontrol/priority-level.ts';
import { nodeMetrics, podMetrics } from './metrics/usage.ts';
import { createIngress } from './networking/ingress.ts';
import { ingressClass } from './networking/ingress-class.ts';
import { networkPolicy } from './networking/network-policy.ts';
import { runtimeClass } from './node/runtime-class.ts';
import { olderVersion } from './older-version.ts';
import { podDisruptionBudget, podDisruptionBudgetV1beta1 } from './policy/pod-disruption-budget.ts';
import { podSecurityPolicy } from './policy/pod-security-policy.ts';
import { clusterRole } from './rbac/cluster-role.ts';
import { role } from './rbac/role.ts';
import { clusterRoleBinding, roleBinding } from './rbac/role-binding.ts';
import {
  localSubjectAccessReview,
  selfSubjectAccessReview,
  selfSubjectRulesReview,
  subjectAccessReview,
} from './reviews/access-review.ts';
import { tokenReview } from './reviews/token-review.ts';
import { priorityClass } from './scheduling/priority-class.ts';
import { csiDriver } from './storage/csi-driver.ts';
import { csiNode } from './storage/csi-node.ts';
import { csiStorageCapacity, csiStorageCapacityV1beta1 } from './storage/csi-storage-capacity.ts';
import { storageClass } from './storage/storage-class.ts';
import { volumeAttachment } from './storage/volume-attachment.ts';
import { withTemplateWarnings } from './template-warnings.ts';

export interface GroupKindsDeps extends DefinitionDeps {
  /** Vocabulary of the server. */
  readonly vocabulary: Vocabulary;
}

const DOMAIN = VOCABULARIES.plat.apiGroupDomain;

/** Kinds of one group and version under their keys in the table. */
const keyed = (groupVersion: string, kinds: Readonly<Record<string, KindEntry>>): KindTable =>
  Object.fromEntries(Object.entries(kinds).map(([kind, entry]) => [`${groupVersion}/${kind}`, entry]));

function workloads(vocabulary: Vocabulary): KindTable {
  const warning = (entry: KindEntry): KindEntry => withTemplateWarnings(entry, vocabulary);
  return {
    ...keyed('apps/v1', {
      ControllerRevision: controllerRevision,
      DaemonSet: warning(daemonSet),
      Deployment: warning(deployment),
      ReplicaSet: warning(replicaSet),
      StatefulSet: warning(statefulSet),
    }),
    ...keyed('batch/v1', { CronJob: warning(cronJob), Job: warning(job) }),
    ...keyed('batch/v1beta1', {
      CronJob: olderVersion(
        warning(cronJob),
        { group: 'batch', version: 'v1beta1', stored: 'v1' },
        vocabulary,
      ),
    }),
    ...keyed('autoscaling/v1', {
      HorizontalPodAutoscaler: horizontalPodAutoscalerV1(vocabulary, horizontalPodAutoscaler),
    }),
    ...keyed('autoscaling/v2', { HorizontalPodAutoscaler: horizontalPodAutoscaler }),
    ...keyed('autoscaling/v2beta1', {
      HorizontalPodAutoscaler: horizontalPodAutoscalerV2beta1(vocabulary, horizontalPodAutoscaler),
    }),
    ...keyed('autoscaling/v2beta2', {
      HorizontalPodAutoscaler: olderVersion(
        horizontalPodAutoscaler,
        { group: 'autoscaling', version: 'v2beta2', stored: 'v2' },
        vocabulary,
      ),
    }),
    ...keyed('policy/v1', { PodDisruptionBudget: podDisruptionBudget }),
    ...keyed('policy/v1beta1', {
      PodDisruptionBudget: podDisruptionBudgetV1beta1(vocabulary),
      PodSecurityPolicy: podSecurityPolicy,
    }),
  };
}

function cluster(vocabulary: Vocabulary): KindTable {
  return {
    ...keyed(`coordination.${DOMAIN}/v1`, { Lease: lease }),
    ...keyed(`discovery.${DOMAIN}/v1`, { EndpointSlice: endpointSlice }),
    ...keyed(`discovery.${DOMAIN}/v1beta1`, { EndpointSlice: endpointSliceV1beta1(vocabulary) }),
    ...keyed(`events.${DOMAIN}/v1`, { Event: event(vocabulary) }),
    ...keyed(`events.${DOMAIN}/v1beta1`, { Event: eventV1beta1(vocabulary) }),
    ...keyed(`metrics.${DOMAIN}/v1beta1`, { NodeMetrics: nodeMetrics, PodMetrics: podMetrics }),
    ...keyed(`networking.${DOMAIN}/v1`, {
      Ingress: createIngress(vocabulary),
      IngressClass: ingressClass,
      NetworkPolicy: networkPolicy,
    }),
    ...keyed(`node.${DOMAIN}/v1`, { RuntimeClass: runtimeClass }),
    ...keyed(`node.${DOMAIN}/v1beta1`, {
      RuntimeClass: olderVersion(
        runtimeClass,
        { group: 'node', hasDomain: true, version: 'v1beta1', stored: 'v1' },
        vocabulary,
      ),
    }),
    ...keyed(`scheduling.${DOMAIN}/v1`, { PriorityClass: priorityClass }),
    ...keyed(`storage.${DOMAIN}/v1`, {
      CSIDriver: csiDriver,
      CSINode: csiNode,
      CSIStorageCapacity: csiStorageCapacity,
      StorageClass: storageClass,
      VolumeAttachment: volumeAttachment,
    }),
    ...keyed(`storage.${DOMAIN}/v1beta1`, { CSIStorageCapacity: csiStorageCapacityV1beta1(vocabulary) }),
  };
}

function flowControl(vocabulary: Vocabulary): KindTable {
  const older = (entry: KindEntry): KindEntry =>
    olderVersion(
      entry,
      { group: 'flowcontrol.apiserver', hasDomain: true, version: 'v1beta1', stored: 'v1beta2' },
      vocabulary,
    );
  return {
    ...keyed(`flowcontrol.apiserver.${DOMAIN}/v1beta2`, {
      FlowSchema: flowSchema,
      PriorityLevelConfiguration: priorityLevelConfiguration,
    }),
    ...keyed(`flowcontrol.apiserver.${DOMAIN}/v1beta1`, {
      FlowSchema: older(flowSchema),
      PriorityLevelConfiguration: older(priorityLevelConfiguration),
    }),
  };
}

function server(deps: GroupKindsDeps): KindTable {
  return {
    ...keyed(`admissionregistration.${DOMAIN}/v1`, {
      MutatingWebhookConfiguration: mutatingWebhookConfiguration,
      ValidatingWebhookConfiguration: validatingWebhookConfiguration,
    }),
    ...keyed(`apiextensions.${DOMAIN}/v1`, {
      CustomResourceDefinition: createCustomResourceDefinition(deps),
    }),
    ...keyed(`apiregistration.${DOMAIN}/v1`, { APIService: apiService }),
    ...keyed(`authentication.${DOMAIN}/v1`, { TokenReview: tokenReview }),
    ...keyed(`authorization.${DOMAIN}/v1`, {
      LocalSubjectAccessReview: localSubjectAccessReview,
      SelfSubjectAccessReview: selfSubjectAccessReview,
      SelfSubjectRulesReview: selfSubjectRulesReview,
      SubjectAccessReview: subjectAccessReview,
    }),
    ...keyed(`certificates.${DOMAIN}/v1`, { CertificateSigningRequest: certificateSigningRequest }),
    ...flowControl(deps.vocabulary),
    ...keyed(`rbac.authorization.${DOMAIN}/v1`, {
      ClusterRole: clusterRole,
      ClusterRoleBinding: clusterRoleBinding,
      Role: role,
      RoleBinding: roleBinding,
    }),
  };
}

/** Kinds by neutral group, version and kind: `apps/v1/Deployment`. */
export function groupKinds(deps: GroupKindsDeps): KindTable {
  return { ...workloads(deps.vocabulary), ...cluster(deps.vocabulary), ...server(deps) };
}
