/** The kinds of the core group. */
import type { Vocabulary } from '#api/vocabulary.ts';
import type { KindTable } from '../contract.ts';
import type { ServiceAllocation } from './allocation/contract.ts';
import { componentStatusKind } from './component-status.ts';
import { configMapKind } from './config-map.ts';
import { endpointsKind } from './endpoints.ts';
import { eventKind } from './event.ts';
import { limitRangeKind } from './limit-range.ts';
import { namespaceKind } from './namespace.ts';
import { nodeKind } from './node.ts';
import { persistentVolumeKind } from './persistent-volume.ts';
import { persistentVolumeClaimKind } from './persistent-volume-claim.ts';
import { podKind } from './pod.ts';
import { podTemplateKind } from './pod-template.ts';
import { replicationControllerKind } from './replication-controller.ts';
import { resourceQuotaKind } from './resource-quota.ts';
import { secretKind } from './secret.ts';
import { serviceKind } from './service.ts';
import { serviceAccountKind } from './service-account.ts';

export interface CoreDeps {
  readonly vocabulary: Vocabulary;
  readonly allocation: ServiceAllocation;
  /** Lifetime of events in seconds. Default: one hour. */
  readonly eventTtlSeconds?: number;
}

const EVENT_TTL_SECONDS = 3600;

export function coreKinds({ vocabulary, allocation, eventTtlSeconds }: CoreDeps): KindTable {
  return {
    'v1/Pod': podKind(vocabulary),
    'v1/Service': serviceKind(allocation),
    'v1/Node': nodeKind,
    'v1/Namespace': namespaceKind(vocabulary),
    'v1/ConfigMap': configMapKind,
    'v1/Secret': secretKind,
    'v1/ServiceAccount': serviceAccountKind,
    'v1/Endpoints': endpointsKind,
    'v1/Event': eventKind(eventTtlSeconds ?? EVENT_TTL_SECONDS),
    'v1/LimitRange': limitRangeKind,
    'v1/ResourceQuota': resourceQuotaKind,
    'v1/PersistentVolume': persistentVolumeKind,
    'v1/PersistentVolumeClaim': persistentVolumeClaimKind,
    'v1/PodTemplate': podTemplateKind(vocabulary),
    'v1/ReplicationController': replicationControllerKind(vocabulary),
    'v1/ComponentStatus': componentStatusKind,
    // Never stored: a Binding is carried out by `bindPod`.
    'v1/Binding': { strategy: {} },
  };
}
