/** Wires the network of pods and the packet rules of the node. */
import type { Node } from '#api/gen/core-v1.ts';
import { sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { createListeners } from '#api/kit/listeners.ts';
import { parseEndpoint } from '#cri/client/endpoint.ts';
import { createRunProgram } from '#volumes/programs/run-program.ts';
import type { AgentConfig } from '../../config/gen/config.ts';
import { maintainRules } from '../../network/maintain-rules.ts';
import { createPacketFilter } from '../../network/packet-filter.ts';
import type { PacketRuleOptions } from '../../network/packet-rules.ts';
import { rulesNotePath, writeRulesNote } from '../../network/rules-note.ts';
import { adaptNetwork } from '../../runtime/managed/adapt-network.ts';
import { HAIRPIN_MODES } from '../../runtime/managed/network.ts';
import { type NetworkRecord, readNetworkRecord } from '../../runtime/managed/network-record.ts';
import { type PodRanges, runPodNetwork } from '../../runtime/pod-network.ts';
import type { Base } from '../base.ts';
import type { RuntimeSubsystem } from '../runtime.ts';

/** The node as its API server has it. */
export interface NodeView {
  readonly node: () => Node | undefined;
  readonly onChange: (listener: () => void) => () => void;
}

export interface NetworkSubsystem {
  /** Runs until the signal fires. Never rejects. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** Reads of the runtime's configuration until it has a changed network, and their interval. */
const RELOAD_CHECKS = 100;
const RELOAD_CHECK_MS = 20;

const listOf = (text: string): readonly string[] => text.split(',').filter((range) => range !== '');

function rangesOf(node: Node | undefined): readonly string[] {
  const { podCIDRs = [], podCIDR = '' } = node?.spec ?? {};
  return podCIDRs.length > 0 ? podCIDRs : listOf(podCIDR);
}

/** Ranges of a joined node are those of its API server; otherwise those of the configuration. */
function podRanges({ podCIDR }: AgentConfig, view: NodeView | undefined): PodRanges {
  if (view === undefined) return { current: () => listOf(podCIDR), onChange: () => () => undefined };
  return { current: () => rangesOf(view.node()), onChange: view.onChange };
}

/** Waits until the runtime has read its changed network, so that the next pod is in it. Never rejects. */
async function untilReloaded(
  { clock, log }: Base,
  { connection }: RuntimeSubsystem,
  subnets: readonly string[],
): Promise<void> {
  for (let checks = 0; checks < RELOAD_CHECKS && connection.state() !== 'away'; checks += 1) {
    try {
      const { info } = await connection.runtime.status({ verbose: true });
      const text = info['cniconfig'] ?? '';
      if (subnets.every((subnet) => text.includes(subnet))) return;
    } catch (thrown) {
      return log.debug({ err: asError(thrown) }, 'Network of the runtime not readable');
    }
    await sleep(clock, RELOAD_CHECK_MS);
  }
}

async function recordOf({ connection }: RuntimeSubsystem, { log }: Base): Promise<NetworkRecord | undefined> {
  try {
    return await readNetworkRecord(parseEndpoint(connection.endpoint));
  } catch (thrown) {
    log.warn({ err: asError(thrown) }, 'Pod network not adapted');
    return undefined;
  }
}

interface ManagedRanges {
  readonly subnets: () => readonly string[];
  readonly onChange: (listener: () => void) => () => void;
}

/** @param managed ranges of a managed network; undefined for a network of another owner */
async function runRules(base: Base, managed: ManagedRanges | undefined, signal: AbortSignal): Promise<void> {
  const { config, vocabulary, clock, log } = base;
  const destination = config.nonMasqueradeCidr;
  // The default of upstream would cut off pods where the machine's own network is in that range.
  const isSet = base.origins.get('nonMasqueradeCidr')?.kind !== 'default';
  const exempt = isSet && destination !== '' ? managed : undefined;
  if (!config.makeIPTablesUtilChains && exempt === undefined) return;
  const options = (): PacketRuleOptions => ({
    prefix: vocabulary.chainPrefix,
    platform: vocabulary.apiService,
    bits: config.makeIPTablesUtilChains
      ? { masquerade: config.iptablesMasqueradeBit, drop: config.iptablesDropBit }
      : undefined,
    unmasqueraded: exempt?.subnets().map((source) => ({ source, destination })) ?? [],
  });
  await writeRulesNote(rulesNotePath(config.rootDir), config.vocabulary);
  const filter = createPacketFilter(createRunProgram(), signal);
  const onChange = managed?.onChange ?? (() => () => undefined);
  await maintainRules({ filter, clock, log, options, onChange }, signal);
}

/** Adapts the network before the first pod starts.
 *  @param view undefined for a standalone agent */
export async function createNetworkSubsystem(
  base: Base,
  runtimeSubsystem: RuntimeSubsystem,
  view: NodeView | undefined,
): Promise<NetworkSubsystem> {
  const { config, log } = base;
  const hairpinMode = HAIRPIN_MODES.find((mode) => mode === config.hairpinMode) ?? 'none';
  const record = await recordOf(runtimeSubsystem, base);
  const changes = createListeners('pod ranges');
  let subnets: readonly string[] = [];
  const ranges = podRanges(config, view);
  const adapt = async (managed: NetworkRecord): Promise<void> => {
    const adapted = await adaptNetwork(managed, { hairpinMode, podCIDRs: ranges.current() });
    subnets = adapted.subnets;
    changes.notify();
    if (!adapted.changed) return;
    await untilReloaded(base, runtimeSubsystem, subnets);
    log.info({ subnets, hairpinMode }, 'Pod network updated');
  };
  const managed =
    record === undefined
      ? undefined
      : { subnets: () => subnets, onChange: (listener: () => void) => changes.add(listener) };
  const adaptManaged = record === undefined ? undefined : () => adapt(record);
  await adaptManaged?.().catch((thrown: unknown) => {
    log.warn({ err: asError(thrown) }, 'Failed to update pod network');
  });
  const { connection } = runtimeSubsystem;
  return {
    run: async (signal) => {
      await Promise.all([
        runPodNetwork({ connection, adapt: adaptManaged, log }, ranges, signal),
        runRules(base, managed, signal),
      ]);
    },
  };
}
