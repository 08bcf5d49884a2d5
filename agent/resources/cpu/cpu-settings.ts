/** Settings of the CPU manager from the configuration. Pure.
 *  Source: upstream's CPU manager policy options and reservations, release 1.24. */
import { addQuantities, milliValue } from '#api/meta/quantity.ts';
import { featureEnabled } from '../../config/feature-gates.ts';
import type { AgentConfig } from '../../config/gen/config.ts';
import { type CpuSet, formatCpuSet, parseCpuSet } from '../../machine/cpu-set.ts';
import { type CpuTopology, threadsPerCore } from '../../machine/cpu-topology.ts';
import { ResourceStateError } from '../state/state-error.ts';
import { takeDistributed, takePacked } from './assign.ts';
import type { StaticOptions, StaticPolicy } from './static-policy.ts';

export type CpuSettingsConfig = Pick<
  AgentConfig,
  | 'cpuManagerPolicy'
  | 'cpuManagerPolicyOptions'
  | 'reservedSystemCPUs'
  | 'systemReserved'
  | 'platReserved'
  | 'featureGates'
>;

export function cpuManagerPolicy(config: CpuSettingsConfig): 'none' | 'static' {
  return featureEnabled(config, 'CPUManager') && config.cpuManagerPolicy === 'static' ? 'static' : 'none';
}

/** Policy option to the feature gate that it requires. */
const OPTION_GATES = {
  'full-pcpus-only': 'CPUManagerPolicyBetaOptions',
  'distribute-cpus-across-numa': 'CPUManagerPolicyAlphaOptions',
} as const;

const OPTIONS = 'cpuManagerPolicyOptions';
const isOption = (name: string): name is keyof typeof OPTION_GATES => Object.hasOwn(OPTION_GATES, name);

/** @throws ResourceStateError for an option that is unknown, gated off, or not a boolean */
export function staticOptions(config: CpuSettingsConfig): StaticOptions {
  const given = Object.entries(config.cpuManagerPolicyOptions);
  if (given.length > 0 && !featureEnabled(config, 'CPUManagerPolicyOptions')) {
    throw new ResourceStateError(`${OPTIONS}: feature gate CPUManagerPolicyOptions is off`);
  }
  if (given.length > 0 && cpuManagerPolicy(config) === 'none') {
    throw new ResourceStateError(`${OPTIONS}: the CPU manager policy none has no options`);
  }
  const chosen = new Set<string>();
  for (const [name, text] of given) {
    if (!isOption(name)) {
      throw new ResourceStateError(
        `${OPTIONS}: ${name} is not one of ${Object.keys(OPTION_GATES).join(', ')}`,
      );
    }
    const gate = OPTION_GATES[name];
    if (!featureEnabled(config, gate)) {
      throw new ResourceStateError(`${OPTIONS}: ${name} needs feature gate ${gate}`);
    }
    if (!/^(?:1|t|true|0|f|false)$/i.test(text)) {
      throw new ResourceStateError(`${OPTIONS}: ${name} must be true or false, not ${JSON.stringify(text)}`);
    }
    if (/^(?:1|t|true)$/i.test(text)) chosen.add(name);
  }
  return {
    fullPcpusOnly: chosen.has('full-pcpus-only'),
    distributeAcrossNuma: chosen.has('distribute-cpus-across-numa'),
  };
}

/** Returns the sum of the reservations in whole CPUs, rounded up. */
function reservedCount({ systemReserved, platReserved }: CpuSettingsConfig): number {
  const sum = addQuantities(systemReserved['cpu'] ?? '0', platReserved['cpu'] ?? '0');
  return Math.ceil(milliValue(sum) / 1000);
}

const HOW_TO_RESERVE =
  'set --reserved-cpus, or cpu in --system-reserved or --plat-reserved, to reserve a CPU for the system';

/** @throws ResourceStateError where nothing is reserved, or more than the machine has */
export function staticPolicy(config: CpuSettingsConfig, topology: CpuTopology): StaticPolicy {
  const options = staticOptions(config);
  const reserved = reservedCpus(config, topology, options);
  const missing = [...reserved].filter((cpu) => !topology.all.has(cpu));
  if (missing.length > 0) {
    const detail = `${formatCpuSet(new Set(missing))} of the reserved CPUs do not exist on this machine, which has ${formatCpuSet(topology.all)}`;
    throw new ResourceStateError(`reservedSystemCPUs: ${detail}`);
  }
  return { topology, reserved, options };
}

function reservedCpus(
  config: CpuSettingsConfig,
  topology: CpuTopology,
  { fullPcpusOnly, distributeAcrossNuma }: StaticOptions,
): CpuSet {
  if (config.reservedSystemCPUs !== '') return parseCpuSet(config.reservedSystemCPUs.replaceAll(' ', ''));
  const count = reservedCount(config);
  if (count === 0) {
    throw new ResourceStateError(`the CPU manager policy static needs reserved CPUs: ${HOW_TO_RESERVE}`);
  }
  if (count > topology.all.size) {
    const detail = `${count} CPUs are reserved and the machine has ${topology.all.size}`;
    throw new ResourceStateError(`the CPU manager policy static: ${detail}`);
  }
  const group = fullPcpusOnly ? threadsPerCore(topology) : 1;
  return distributeAcrossNuma
    ? takeDistributed(topology, topology.all, count, group)
    : takePacked(topology, topology.all, count);
}
