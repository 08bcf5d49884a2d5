/** The managers of processors, memory and devices, wired together. Each is loaded only where it is asked for. */
import { join } from 'node:path';
import { createMetricsRegistry, type MetricsRegistry } from '#api/kit/metrics.ts';
import type { ResourceManagers, ResourceProvider } from '../resources/contract.ts';
import type { CpuManager } from '../resources/cpu/cpu-manager.ts';
import { cpuManagerPolicy, staticOptions, staticPolicy } from '../resources/cpu/cpu-settings.ts';
import { createTopology } from '../resources/cpu/topology.ts';
import type { Devices } from '../resources/devices/devices.ts';
import type { MachineTopology } from '../resources/machine/parse.ts';
import { readMachineTopology } from '../resources/machine/read.ts';
import { createResourceManagers } from '../resources/resource-managers.ts';
import { refuseStateOfOthers } from '../resources/state/other-policy.ts';
import { createStateFile } from '../resources/state/state-file.ts';
import { topologySettings } from '../resources/topology/topology-settings.ts';
import type { Base } from './base.ts';
import type { RuntimeSide } from './runtime-side.ts';

interface Made {
  readonly machine: MachineTopology;
  readonly registry: MetricsRegistry;
}

const NO_TOPOLOGY: MachineTopology = { cpu: createTopology([]), nodes: [] };

/** Name of the file in the root directory; the field's. */
const CPU_STATE = 'cpu_manager_state';

async function cpuManager(
  { config, clock, log }: Base,
  { connection, view }: Pick<RuntimeSide, 'connection' | 'view'>,
  { machine, registry }: Made,
): Promise<CpuManager> {
  const { createCpuManager } = await import('../resources/cpu/cpu-manager.ts');
  const { createAffinity } = await import('../resources/cpu/affinity.ts');
  const { createProcesses } = await import('../server/node/stats/processes.ts');
  const { runtime } = connection;
  const processes = createProcesses({ runtime });
  return createCpuManager(
    {
      file: createStateFile(join(config.rootDir, CPU_STATE)),
      registry,
      clock,
      log: log.child({ component: 'cpu-manager' }),
      runtime,
      containers: () => view.containers(),
      affinity: createAffinity({ processOf: (id) => processes.ofContainer(id) }),
    },
    {
      policy: staticPolicy(config, machine.cpu),
      reconcilePeriodMs: config.cpuManagerReconcilePeriod,
    },
  );
}

/** @throws ResourceStateError for what keeps a manager from doing what it was told, with the remedy: the agent doesn't
 *  start */
export async function createResourceSide(
  base: Base,
  runtimeSide: Pick<RuntimeSide, 'connection' | 'view'>,
  devices?: Devices,
): Promise<ResourceManagers> {
  const { config, log } = base;
  const registry = createMetricsRegistry();
  devices?.addMetrics(registry);
  const isNeeded = cpuManagerPolicy(config) === 'static' || config.topologyManagerPolicy !== 'none';
  // Many small files on a large machine, which most nodes can do without.
  const machine = isNeeded ? await readMachineTopology() : NO_TOPOLOGY;
  const nodes = machine.nodes.map(({ id }) => id);
  const topology = topologySettings(config, nodes);
  const made: Made = { machine, registry };
  const cpu = cpuManagerPolicy(config) === 'static' ? await cpuManager(base, runtimeSide, made) : undefined;
  if (cpu === undefined) {
    staticOptions(config);
    await refuseStateOfOthers(join(config.rootDir, CPU_STATE), 'none');
  }
  const providers: readonly ResourceProvider[] = [cpu, devices?.manager].filter((one) => one !== undefined);
  return createResourceManagers(
    {
      providers,
      log,
      registry,
      held: (podUID, container) => ({ cpus: cpu?.held(podUID, container) ?? [], memory: [] }),
      most: () => ({ cpus: cpu?.most() ?? [], memory: [] }),
    },
    topology,
  );
}
