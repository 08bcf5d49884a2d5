/** The managers of processors, memory and devices, wired together. Each is loaded only where it is asked for. */
import { totalmem } from 'node:os';
import { join } from 'node:path';
import type { MetricsRegistry } from '#api/kit/metrics.ts';
import type { ResourceManagers, ResourceProvider } from '../resources/contract.ts';
import type { CpuManager } from '../resources/cpu/cpu-manager.ts';
import { cpuManagerPolicy, staticOptions, staticPolicy } from '../resources/cpu/cpu-settings.ts';
import { createTopology } from '../resources/cpu/topology.ts';
import type { Devices } from '../resources/devices/devices.ts';
import type { MachineTopology } from '../resources/machine/parse.ts';
import { readMachineTopology } from '../resources/machine/read.ts';
import type { MemoryManager } from '../resources/memory/memory-manager.ts';
import { memoryManagerPolicy, nodeMemories } from '../resources/memory/memory-settings.ts';
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

/** Names of the files in the root directory; the field's. */
const CPU_STATE = 'cpu_manager_state';
const MEMORY_STATE = 'memory_manager_state';

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

async function memoryManager({ config }: Base, { machine }: Made): Promise<MemoryManager> {
  const { createMemoryManager } = await import('../resources/memory/memory-manager.ts');
  const file = createStateFile(join(config.rootDir, MEMORY_STATE));
  return createMemoryManager({ file }, nodeMemories(config, machine.nodes, totalmem()));
}

/** Managers that are on; the settings and files of those that are off are looked at.
 *  @throws ResourceStateError */
async function createManagers(
  base: Base,
  runtimeSide: Pick<RuntimeSide, 'connection' | 'view'>,
  made: Made,
): Promise<{ readonly cpu: CpuManager | undefined; readonly memory: MemoryManager | undefined }> {
  const { config } = base;
  const cpu = cpuManagerPolicy(config) === 'static' ? await cpuManager(base, runtimeSide, made) : undefined;
  const memory = memoryManagerPolicy(config) === 'Static' ? await memoryManager(base, made) : undefined;
  if (cpu === undefined) {
    staticOptions(config);
    await refuseStateOfOthers(join(config.rootDir, CPU_STATE), 'none');
  }
  if (memory === undefined) await refuseStateOfOthers(join(config.rootDir, MEMORY_STATE), 'None');
  return { cpu, memory };
}

/** @throws ResourceStateError for what keeps a manager from doing what it was told, with the remedy: the agent doesn't
 *  start */
export async function createResourceSide(
  base: Base,
  runtimeSide: Pick<RuntimeSide, 'connection' | 'view'>,
  devices?: Devices,
): Promise<ResourceManagers> {
  const { config, log, metrics: registry } = base;
  devices?.addMetrics(registry);
  const isNeeded =
    cpuManagerPolicy(config) === 'static' ||
    memoryManagerPolicy(config) === 'Static' ||
    config.topologyManagerPolicy !== 'none';
  // Many small files on a large machine, which most nodes can do without.
  const machine = isNeeded ? await readMachineTopology() : NO_TOPOLOGY;
  const nodes = machine.nodes.map(({ id }) => id);
  const topology = topologySettings(config, nodes);
  const { cpu, memory } = await createManagers(base, runtimeSide, { machine, registry });
  // Devices first: they have the fewest places to be.
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
