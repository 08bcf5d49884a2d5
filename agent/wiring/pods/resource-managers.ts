/** Wires the CPU, memory and device managers. Each is loaded only if it is enabled. */
import { totalmem } from 'node:os';
import { join } from 'node:path';
import type { MetricsRegistry } from '#api/kit/metrics.ts';
import { createTopology } from '../../machine/cpu-topology.ts';
import type { MachineTopology } from '../../machine/parse-topology.ts';
import { readMachineTopology } from '../../machine/read-topology.ts';
import type { ResourceManagers, ResourceProvider } from '../../resources/contract.ts';
import type { CpuManager } from '../../resources/cpu/cpu-manager.ts';
import { cpuManagerPolicy, staticOptions, staticPolicy } from '../../resources/cpu/cpu-settings.ts';
import type { Devices } from '../../resources/devices/devices.ts';
import type { MemoryManager } from '../../resources/memory/memory-manager.ts';
import { memoryManagerPolicy, nodeMemories } from '../../resources/memory/memory-settings.ts';
import { createResourceManagers } from '../../resources/resource-managers.ts';
import { refuseStateOfOthers } from '../../resources/state/other-policy.ts';
import { createStateFile } from '../../resources/state/state-file.ts';
import { topologySettings } from '../../resources/topology/topology-settings.ts';
import type { Base } from '../base.ts';
import type { RuntimeSubsystem } from '../runtime.ts';

interface Made {
  readonly machine: MachineTopology;
  readonly registry: MetricsRegistry;
}

const NO_TOPOLOGY: MachineTopology = { cpu: createTopology([]), nodes: [] };

/** Names of the checkpoint files in the root directory, as upstream. */
const CPU_STATE = 'cpu_manager_state';
const MEMORY_STATE = 'memory_manager_state';

async function cpuManager(
  { config, clock, log }: Base,
  { connection, view }: Pick<RuntimeSubsystem, 'connection' | 'view'>,
  { machine, registry }: Made,
): Promise<CpuManager> {
  const { createCpuManager } = await import('../../resources/cpu/cpu-manager.ts');
  const { createAffinity } = await import('../../resources/cpu/affinity.ts');
  const { createProcesses } = await import('../../server/node/stats/processes.ts');
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

async function memoryManager({ config }: Base, { machine }: Made): Promise<MemoryManager> {
  const { createMemoryManager } = await import('../../resources/memory/memory-manager.ts');
  const file = createStateFile(join(config.rootDir, MEMORY_STATE));
  return createMemoryManager({ file }, nodeMemories(config, machine.nodes, totalmem()));
}

/** Creates the enabled managers; checks settings and checkpoint files of the others.
 *  @throws ResourceStateError */
async function createManagers(
  base: Base,
  runtimeSubsystem: Pick<RuntimeSubsystem, 'connection' | 'view'>,
  made: Made,
): Promise<{ readonly cpu: CpuManager | undefined; readonly memory: MemoryManager | undefined }> {
  const { config } = base;
  const cpu =
    cpuManagerPolicy(config) === 'static' ? await cpuManager(base, runtimeSubsystem, made) : undefined;
  const memory = memoryManagerPolicy(config) === 'Static' ? await memoryManager(base, made) : undefined;
  if (cpu === undefined) {
    staticOptions(config);
    await refuseStateOfOthers(join(config.rootDir, CPU_STATE), 'none');
  }
  if (memory === undefined) await refuseStateOfOthers(join(config.rootDir, MEMORY_STATE), 'None');
  return { cpu, memory };
}

/** @throws ResourceStateError with the remedy, if a manager cannot work as configured: the agent does not
 *  start */
export async function createResourceSubsystem(
  base: Base,
  runtimeSubsystem: Pick<RuntimeSubsystem, 'connection' | 'view'>,
  devices?: Devices,
): Promise<ResourceManagers> {
  const { config, log, metrics: registry } = base;
  devices?.addMetrics(registry);
  const isNeeded =
    cpuManagerPolicy(config) === 'static' ||
    memoryManagerPolicy(config) === 'Static' ||
    config.topologyManagerPolicy !== 'none';
  // Reads many small files on a large machine, which most nodes do not need.
  const machine = isNeeded ? await readMachineTopology() : NO_TOPOLOGY;
  const nodes = machine.nodes.map(({ id }) => id);
  const topology = topologySettings(config, nodes);
  const { cpu, memory } = await createManagers(base, runtimeSubsystem, { machine, registry });
  // Devices first: they have the fewest placement options.
  const providers: readonly ResourceProvider[] = [devices?.manager, cpu, memory].filter(
    (one) => one !== undefined,
  );
  return createResourceManagers(
    {
      providers,
      log,
      registry,
      held: (podUID, container) => ({
        cpus: cpu?.held(podUID, container) ?? [],
        memory: memory?.held(podUID, container) ?? [],
      }),
      most: () => ({ cpus: cpu?.most() ?? [], memory: memory?.most() ?? [] }),
    },
    topology,
  );
}
