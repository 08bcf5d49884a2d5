/** Settings that the server supplies to its controllers. */
import type { IpRange } from '#api/meta/ip.ts';
import type { Identity } from '#api/pki/certificate.ts';
import type { CallAgent } from '../../agents/call-agent.ts';
import type { TokenIssuer } from '../../authn/service-account/issuer.ts';
import type { Authorizer } from '../../authz/contract.ts';
import type { PendingCharges } from '../../quota/pending.ts';
import type { Collector } from '../../resource-metrics/collector.ts';
import type { SignerKind } from '../../resources/groups/certificates/signers.ts';

export interface SigningSettings {
  /** Returns the CA of a built-in signer, read for each request; `undefined`: another program signs. */
  readonly authorityOf: (kind: SignerKind) => Identity | undefined;
  /** Maximum duration, in ms. */
  readonly longestMs: number;
}

/** The cluster-info ConfigMap. */
export interface ClusterInfoSettings {
  /** Returns the default content of the ConfigMap. */
  readonly content: () => string;
  /** Resets the content of a ConfigMap that this server created to the default; not where several servers
   *  share a store. */
  readonly reset: boolean;
}

export interface NodeHealthLimits {
  /** Grace period without a heartbeat, in ms. */
  readonly graceMs: number;
  /** The same for a node that has never reported its status. */
  readonly startupGraceMs: number;
}

/** Content of a resource that remains in a namespace. */
export interface Remains {
  /** Of the resource, with its group. */
  readonly name: string;
  readonly count: number;
  /** Of all the objects, with duplicates. */
  readonly finalizers: readonly string[];
}

export interface Emptied {
  readonly failures: readonly Error[];
  readonly remains: readonly Remains[];
  /** Group versions of aggregated servers whose resources are unknown. */
  readonly unknown: readonly string[];
}

/** Content of the namespace on aggregated servers. */
export interface OtherContent {
  /** Runs one round of deletion. Never rejects. */
  empty(namespace: string, signal: AbortSignal): Promise<Emptied>;
}

/** Ranges of pod addresses for nodes. */
export interface NodeRanges {
  /** One, or one of each family, with the prefix of the block of a node. */
  readonly cluster: readonly { readonly range: IpRange; readonly blockBits: number }[];
  /** Addresses that no node gets. */
  readonly excluded: readonly IpRange[];
}

export interface AggregatedRequest {
  readonly group: string;
  readonly version: string;
  readonly method: 'GET' | 'PUT';
  /** Below the path of the group version, with the query. */
  readonly path: string;
  /** JSON. */
  readonly body?: object;
}

/** A kind that an aggregated server serves. */
export interface AggregatedKind {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
}

/** Access to the APIs of aggregated servers. */
export interface AggregatedApis {
  /** Returns the versions of a group that aggregated servers serve, preferred ones first. */
  versionsOf(group: string): readonly string[];
  /** Finds a namespaced kind; the scalable one of several. */
  findKind(group: string, kind: string): AggregatedKind | undefined;
  /** Returns the JSON body of a successful response. @throws Error with the reason */
  send(request: AggregatedRequest, signal: AbortSignal): Promise<unknown>;
}

/** Durations in ms. */
export interface AutoscalerLimits {
  readonly syncPeriodMs: number;
  readonly downscaleWindowMs: number;
  readonly tolerance: number;
  readonly cpuInitializationMs: number;
  readonly initialReadinessMs: number;
}

export interface AutoscalerSettings {
  readonly limits: AutoscalerLimits;
  /** Resource usage from the nodes. */
  readonly collector: Pick<Collector, 'prepare' | 'seriesOf'>;
  /** Absent: there are no aggregated servers. */
  readonly aggregated: AggregatedApis | undefined;
}

export interface ControllerSettings {
  readonly authorizer: Pick<Authorizer, 'authorize'>;
  readonly tokenIssuer: Pick<TokenIssuer, 'issueStored'>;
  /** Returns the PEM of the CAs for clients inside the cluster. */
  readonly rootAuthority: () => string;
  /** Calls the listener when `rootAuthority` or the content of cluster-info has changed.
   *  @returns a function that ends the subscription */
  readonly onTrustChange: (listener: () => void) => () => void;
  readonly signing: SigningSettings;
  /** Absent: bootstrap tokens are disabled. */
  readonly clusterInfo: ClusterInfoSettings | undefined;
  readonly nodeHealth: NodeHealthLimits;
  /** Threshold of terminated pods; 0: unlimited. */
  readonly terminatedPods: number;
  readonly pendingCharges: Pick<PendingCharges, 'of'>;
  /** Resources of aggregated servers in namespaces; absent: there are no such servers. */
  readonly otherContent: OtherContent | undefined;
  readonly autoscaler: AutoscalerSettings;
  /** Absent: nodes get no ranges. */
  readonly nodeRanges: NodeRanges | undefined;
  readonly callAgent: CallAgent;
}
