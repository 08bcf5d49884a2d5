/** Which driver makes cgroups: the agent and its runtime have to agree. */
import type { RuntimeService } from '#cri/gen/cri-v1.ts';
import type { CgroupDriver } from './names.ts';

/** The agent was told another driver than its runtime has: no pod could be started. */
export class CgroupDriverError extends Error {
  override readonly name = 'CgroupDriverError';

  constructor(agent: CgroupDriver, runtime: CgroupDriver) {
    super(
      `the agent makes cgroups with ${agent}, the container runtime with ${runtime}: start the agent with ` +
        `--cgroup-driver=${runtime}, or set SystemdCgroup = ${agent === 'systemd'} in the runtime's configuration`,
    );
  }
}

export interface DriverWish {
  readonly driver: CgroupDriver;
  /** Whether somebody chose it, so that it is not the default. */
  readonly chosen: boolean;
}

/** The driver that nobody chose follows the runtime's. @throws CgroupDriverError */
export function decideDriver(wish: DriverWish, runtime: CgroupDriver | undefined): CgroupDriver {
  if (runtime === undefined || runtime === wish.driver) return wish.driver;
  if (wish.chosen) throw new CgroupDriverError(wish.driver, runtime);
  return runtime;
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? new Map(Object.entries(value)).get(name) : undefined;

/** Reads containerd's own words about its configuration; undefined where they don't tell. */
export function parseRuntimeDriver(info: Readonly<Record<string, string>>): CgroupDriver | undefined {
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

/** Asks the runtime; undefined where it doesn't tell or doesn't answer. */
export async function readRuntimeDriver(
  runtime: Pick<RuntimeService, 'status'>,
): Promise<CgroupDriver | undefined> {
  return runtime.status({ verbose: true }).then(
    ({ info }) => parseRuntimeDriver(info),
    () => undefined,
  );
}
