/** Pods and nodes reduced to the fields that scheduling reads, parsed once. Pods of one template share one
 *  shape, so that many pods cost little and are counted together. */

import type { NodeSelectorRequirement, Taint, Toleration, Volume } from '#api/gen/core-v1.ts';
import type { Int64 } from '#api/kit/int64.ts';
import type { Requirement } from '#api/meta/selectors.ts';

/** Label keys and names that decisions read, by vocabulary. */
export interface SchedulerLabelKeys {
  readonly hostname: string;
  /** Zone labels, newest first. */
  readonly zones: readonly string[];
  /** Labels that volumes of a zone or region have. */
  readonly volumeZones: readonly string[];
  /** Instance type labels. */
  readonly instanceTypes: readonly string[];
  readonly unschedulableTaint: string;
  readonly noProvisioner: string;
}

/** Amounts of resources; scalars are extended resources and huge pages, in units. */
export interface Amounts {
  readonly milliCpu: Int64;
  readonly memoryBytes: Int64;
  readonly ephemeralBytes: Int64;
  readonly scalars: ReadonlyMap<string, Int64>;
}

export interface HostPort {
  /** `protocol/port`. */
  readonly port: string;
  /** `0.0.0.0`: every address. */
  readonly address: string;
}

/** Terms of a node selector: one of them must match as a whole. */
export interface NodeTerm {
  readonly labels: readonly NodeSelectorRequirement[];
  readonly fields: readonly NodeSelectorRequirement[];
}

export interface PreferredNodeTerm {
  readonly weight: number;
  readonly term: NodeTerm;
}

/** Which pods a term of pod affinity is about. */
export interface PodTerm {
  readonly topologyKey: string;
  /** Absent: no pod. */
  readonly selector: readonly Requirement[] | undefined;
  readonly namespaces: ReadonlySet<string>;
  /** Further namespaces, by their labels. */
  readonly namespaceSelector: readonly Requirement[] | undefined;
}

export interface WeightedPodTerm {
  /** Negative for anti-affinity. */
  readonly weight: number;
  readonly term: PodTerm;
}

export interface SpreadConstraint {
  readonly maxSkew: number;
  readonly topologyKey: string;
  /** With fewer domains, the least one counts as empty. */
  readonly minDomains: number;
  /** Absent: no pod. */
  readonly selector: readonly Requirement[] | undefined;
}

export interface OwnerRef {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
}

/** Scheduling properties that pods of one template share. */
export interface PodShape {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly priority: number;
  readonly mayPreempt: boolean;
  readonly requests: Amounts;
  /** Requests including the assumed usage of containers without requests; for scores. */
  readonly likelyMilliCpu: Int64;
  readonly likelyMemoryBytes: Int64;
  readonly hostPorts: readonly HostPort[];
  readonly nodeSelector: readonly (readonly [string, string])[];
  /** Absent: any node. Empty: none. */
  readonly requiredNodeTerms: readonly NodeTerm[] | undefined;
  readonly preferredNodeTerms: readonly PreferredNodeTerm[];
  readonly tolerations: readonly Toleration[];
  readonly requiredAffinity: readonly PodTerm[];
  readonly requiredAntiAffinity: readonly PodTerm[];
  readonly preferredPodTerms: readonly WeightedPodTerm[];
  readonly hardSpread: readonly SpreadConstraint[];
  readonly softSpread: readonly SpreadConstraint[];
  /** As nodes list them: with a tag. */
  readonly images: readonly string[];
  readonly containerCount: number;
  /** Names of claims. */
  readonly claims: readonly string[];
  /** Claims among them that are created for the pod itself. */
  readonly madeClaims: readonly string[];
  /** Volumes that the pod itself names of older sources that CSI drivers may serve. */
  readonly disks: readonly Volume[];
  readonly owner: OwnerRef | undefined;
}

export interface PodInfo {
  /** `namespace/name`. */
  readonly key: string;
  readonly uid: string;
  readonly name: string;
  readonly shape: PodShape;
  /** Being deleted. */
  readonly terminating: boolean;
  readonly createdMs: number;
  /** Start time of the pod; its creation time while unknown. */
  readonly startedMs: number;
  readonly nodeName: string;
  readonly nominatedNodeName: string;
}

/** Node with its pods. Changed only by the fleet. */
export interface NodeInfo {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly unschedulable: boolean;
  readonly allocatable: Amounts;
  readonly maxPods: number;
  /** Sizes in bytes by name. */
  readonly images: ReadonlyMap<string, number>;
  readonly zone: string;
  readonly pods: ReadonlyMap<string, PodInfo>;
  readonly usedMilliCpu: Int64;
  readonly usedMemoryBytes: Int64;
  readonly usedEphemeralBytes: Int64;
  readonly usedScalars: ReadonlyMap<string, Int64>;
  readonly likelyMilliCpu: Int64;
  readonly likelyMemoryBytes: Int64;
  /** Number of users of each `address protocol/port`. */
  readonly ports: ReadonlyMap<string, number>;
  /** Number of users of each claim, by `namespace/name`. */
  readonly claims: ReadonlyMap<string, number>;
}

/** Why a node can't take a pod. */
export interface Refusal {
  readonly reasons: readonly string[];
  /** Whether it could if pods of it went. */
  readonly resolvable: boolean;
}
