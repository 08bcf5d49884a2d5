/** Node status from the current facts. Pure: reads no clock and no file. Source: upstream's node status
 *  setters, release 1.24. */
import type { ContainerImage, Node, NodeAddress, NodeStatus } from '#api/gen/core-v1.ts';
import {
  decideAllocatable,
  decideCapacity,
  type ResourceList,
  type ResourceRules,
} from '../machine/capacity.ts';
import type { ExtendedResources } from '../machine/extended-resources.ts';
import type { MachineFacts } from '../machine/types.ts';
import { type AddressDecision, type AddressOptions, decideAddresses } from './addresses.ts';
import { type ConditionEvent, decideConditions, type Health, type Pressure } from './conditions.ts';
import type { NodeNames } from './node-names.ts';

export interface StatusRules {
  readonly names: NodeNames;
  readonly resources: ResourceRules;
  readonly addresses: AddressOptions;
  /** Whether an external cloud provider sets the addresses, once it has done so. */
  readonly externalProvider: boolean;
  /** Version of the agent in the status. */
  readonly agentVersion: string;
  /** Port of the agent's server; absent when it is disabled. */
  readonly serverPort?: number;
  /** Limit of attachable cloud volumes; absent when none is reported. */
  readonly attachLimits?: (instanceType: string) => ResourceList;
}

/** Facts that may differ each time. */
export interface StatusInputs {
  readonly facts: MachineFacts;
  /** `containerd://1.6.20`; empty while unknown. */
  readonly runtimeVersion: string;
  readonly troubles: readonly string[];
  readonly pressure: Pressure;
  /** Absent while unknown: the status retains its images. */
  readonly images?: readonly ContainerImage[];
  readonly volumesInUse?: readonly string[];
  /** Extended resources of device plugins. */
  readonly extended?: ExtendedResources;
}

export interface NodeEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export interface StatusDecision {
  readonly status: NodeStatus;
  readonly events: readonly NodeEvent[];
}

/** Resources without which a node cannot run pods. */
const NEEDED = ['cpu', 'memory', 'pods'] as const;

function missingResources(capacity: Readonly<Record<string, string>>, { localStorage }: ResourceRules) {
  const needed: readonly string[] = localStorage ? [...NEEDED, 'ephemeral-storage'] : NEEDED;
  const missing = needed.filter((name) => capacity[name] === undefined);
  return missing.length === 0 ? [] : [`missing node capacity for resources: ${missing.join(', ')}`];
}

/** Members whose names differ between vocabularies have the names of the vocabulary in use. */
function nodeInfo({ names, agentVersion }: StatusRules, { facts, runtimeVersion }: StatusInputs) {
  return {
    machineID: facts.machineID,
    systemUUID: facts.systemUUID,
    bootID: facts.bootID,
    kernelVersion: facts.kernelVersion,
    osImage: facts.osImage,
    containerRuntimeVersion: runtimeVersion,
    [names.versionMember]: agentVersion,
    [names.proxyVersionMember]: agentVersion,
    operatingSystem: 'linux',
    architecture: facts.architecture,
  };
}

const endpoints = ({ serverPort, names }: StatusRules) =>
  serverPort === undefined ? {} : { daemonEndpoints: { [names.endpointMember]: { Port: serverPort } } };

const hasAddresses = ({ addresses = [] }: NodeStatus): boolean => addresses.length > 0;

/** A node retains its addresses while none are found, and those that an external provider set. */
function decideNodeAddresses(rules: StatusRules, facts: MachineFacts, before: NodeStatus): AddressDecision {
  const known: AddressDecision = { kind: 'found', addresses: before.addresses ?? [] };
  if (rules.externalProvider && hasAddresses(before)) return known;
  return decideAddresses(rules.addresses, facts.network);
}

const addressPart = (decision: AddressDecision): { addresses?: readonly NodeAddress[] } =>
  decision.kind === 'found' ? { addresses: decision.addresses } : {};

const rebooted = (name: string, bootID: string): NodeEvent => ({
  type: 'Warning',
  reason: 'Rebooted',
  message: `Node ${name} has been rebooted, boot id: ${bootID}`,
});

const conditionEvent = (name: string, reason: ConditionEvent): NodeEvent => ({
  type: 'Normal',
  reason,
  message: `Node ${name} status is now: ${reason}`,
});

function attachLimits({ names, attachLimits: limits }: StatusRules, { metadata }: Node): ResourceList {
  const types = names.instanceTypes.map((label) => metadata?.labels?.[label]);
  return limits?.(types.find((type) => type !== undefined) ?? '') ?? {};
}

/** Returns the status of the node and the events of the change. Members of others stay. */
export function decideStatus(
  node: Node,
  inputs: StatusInputs,
  rules: StatusRules,
  nowMs: number,
): StatusDecision {
  const name = node.metadata?.name ?? '';
  const before: NodeStatus = node.status ?? {};
  const { facts, images, volumesInUse, pressure, extended } = inputs;
  const address = decideNodeAddresses(rules, facts, before);
  const disks = attachLimits(rules, node);
  const capacity = {
    ...decideCapacity(before.capacity ?? {}, facts, rules.resources, extended),
    ...disks,
  };
  const troubles = [
    ...inputs.troubles,
    ...missingResources(capacity, rules.resources),
    ...(address.kind === 'none' ? [address.message] : []),
  ];
  const health: Health = { troubles, pressure, ...(facts.appArmor ? { remark: 'AppArmor enabled' } : {}) };
  const { conditions, events } = decideConditions(before.conditions ?? [], health, rules.names, nowMs);
  const knownBoot = before.nodeInfo?.bootID ?? '';
  const newBoot = knownBoot !== '' && knownBoot !== facts.bootID;
  return {
    status: {
      ...before,
      capacity,
      allocatable: { ...decideAllocatable(capacity, rules.resources), ...extended?.allocatable },
      conditions,
      ...addressPart(address),
      ...endpoints(rules),
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the type knows the members of one vocabulary
      nodeInfo: { ...before.nodeInfo, ...nodeInfo(rules, inputs) } as NonNullable<NodeStatus['nodeInfo']>,
      ...(images === undefined ? {} : { images }),
      ...(volumesInUse === undefined ? {} : { volumesInUse }),
    },
    events: [
      ...(newBoot ? [rebooted(name, facts.bootID)] : []),
      ...events.map((reason) => conditionEvent(name, reason)),
    ],
  };
}
