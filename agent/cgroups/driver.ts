/** Selection of the cgroup driver: agent and runtime must use the same. */
import type { RuntimeService } from '#cri/gen/cri-v1.ts';
import type { CgroupDriver } from './names.ts';

/** The configured driver differs from that of the runtime: no pod could start. */
export class CgroupDriverError extends Error {
  override readonly name = 'CgroupDriverError';

  constructor(agent: CgroupDriver, runtime: CgroupDriver) {
    super(
      `the agent creates cgroups with ${agent}, the container runtime with ${runtime}: start the agent with ` +
        `--cgroup-driver=${runtime}, or set SystemdCgroup = ${agent === 'systemd'} in the runtime's configuration`,
    );
  }
}

export interface DriverChoice {
  readonly driver: CgroupDriver;
  /** Whether the driver was configured explicitly. */
  readonly chosen: boolean;
}

/** Returns the driver; one that is not configured follows the runtime. @throws CgroupDriverError */
export function decideDriver(choice: DriverChoice, runtime: CgroupDriver | undefined): CgroupDriver {
  if (runtime === undefined || runtime === choice.driver) return choice.driver;
  if (choice.chosen) throw new CgroupDriverError(choice.driver, runtime);
  return runtime;
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? new Map(Object.entries(value)).get(name) : undefined;

/** Parses the verbose status of containerd, or of docker; undefined where it does not contain the driver. */
export function parseRuntimeDriver(info: Readonly<Record<string, string>>): CgroupDriver | undefined {
  const { cgroupDriver } = info;
  if (cgroupDriver === 'systemd' || cgroupDriver === 'cgroupfs') return cgroupDriver;
  try {
    const config: unknown = JSON.parse(info['config'] ?? '');
    const containerd = memberOf(config, 'containerd');
    const name = memberOf(containerd, 'defaultRuntimeName');
    const runtime = memberOf(memberOf(containerd, 'runtimes'), typeof name === 'string' ? name : 'runc');
    const isSystemd = memberOf(memberOf(runtime, 'options'), 'SystemdCgroup');
    if (typeof isSystemd !== 'boolean') return undefined;
    return isSystemd ? 'systemd' : 'cgroupfs';
  } catch {
    return undefined;
  }
}

/** Queries the runtime; undefined when it does not report a driver or does not respond. */
export async function readRuntimeDriver(
  runtime: Pick<RuntimeService, 'status'>,
): Promise<CgroupDriver | undefined> {
  return runtime.status({ verbose: true }).then(
    ({ info }) => parseRuntimeDriver(info),
    () => undefined,
  );
}
