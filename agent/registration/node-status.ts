/** The node's status from what is known now. Pure: reads no clock and no file. Source: upstream's node status
 *  setters, release 1.24. */
import type { ContainerImage, Node, NodeAddress, NodeStatus } from '#api/schema/gen/core-v1.ts';
import type { ExtendedResources } from '../resources/contract.ts';
import { type AddressDecision, type AddressWishes, decideAddresses } from './addresses.ts';
import { type ConditionEvent, decideConditions, type Health, type Pressure } from './conditions.ts';
import type { MachineFacts } from './machine/types.ts';
import { decideAllocatable, decideCapacity, type ResourceList, type ResourceRules } from './resources.ts';
import type { NodeWords } from './words.ts';

export interface StatusRules {
  readonly words: NodeWords;
  readonly resources: ResourceRules;
  readonly addresses: AddressWishes;
  /** Whether a provider outside tells the addresses, once it has. */
  readonly externalProvider: boolean;
  /** Version of the agent, as the node tells it. */
  readonly agentVersion: string;
  /** Port of the agent's server; absent when it serves none. */
  readonly serverPort?: number;
  /** How many disks of its cloud a machine of this kind can have; absent: none are told. */
  readonly attachLimits?: (instanceType: string) => ResourceList;
}

/** What may differ each time. */
export interface StatusInputs {
  readonly facts: MachineFacts;
  /** `containerd://1.6.20`; empty while the runtime did not say. */
  readonly runtimeVersion: string;
  readonly troubles: readonly string[];
  readonly pressure: Pressure;
  /** Absent while they are not known: the status keeps what it says. */
  readonly images?: readonly ContainerImage[];
  readonly volumesInUse?: readonly string[];
  /** Devices of plugins. */
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

/** Without these a node can take no pod. */
const NEEDED = ['cpu', 'memory', 'pods'] as const;

function missingResources(capacity: Readonly<Record<string, string>>, { localStorage }: ResourceRules) {
  const needed: readonly string[] = localStorage ? [...NEEDED, 'ephemeral-storage'] : NEEDED;
  const missing = needed.filter((name) => capacity[name] === undefined);
  return missing.length === 0 ? [] : [`missing node capacity for resources: ${missing.join(', ')}`];
}

/** Members whose names differ between vocabularies are those of the vocabulary in use. */
function nodeInfo({ words, agentVersion }: StatusRules, { facts, runtimeVersion }: StatusInputs) {
  return {
    machineID: facts.machineID,
    systemUUID: facts.systemUUID,
    bootID: facts.bootID,
    kernelVersion: facts.kernelVersion,
    osImage: facts.osImage,
    containerRuntimeVersion: runtimeVersion,
    [words.versionMember]: agentVersion,
    [words.proxyVersionMember]: agentVersion,
    operatingSystem: 'linux',
    architecture: facts.architecture,
  };
}

const endpoints = ({ serverPort, words }: StatusRules) =>
  serverPort === undefined ? {} : { daemonEndpoints: { [words.endpointMember]: { Port: serverPort } } };

const hasAddresses = ({ addresses = [] }: NodeStatus): boolean => addresses.length > 0;

/** A node keeps the addresses it had while it has none, and those that a provider told. */
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

function attachLimits({ words, attachLimits: limits }: StatusRules, { metadata }: Node): ResourceList {
  const types = words.instanceTypes.map((label) => metadata?.labels?.[label]);
  return limits?.(types.find((type) => type !== undefined) ?? '') ?? {};
}

/** The status that the node should have, and what to tell of the change. Members of others stay. */
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
  const { conditions, events } = decideConditions(before.conditions ?? [], health, rules.words, nowMs);
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
