/** Options of the test device plugin. */
export interface TestPluginOptions {
  /** Directory of the agent's socket and of its own. */
  readonly dir: string;
  /** Name of the agent's socket. */
  readonly agentSocket: string;
  readonly resource: string;
  /** `a b! c@1`: healthy, unhealthy, and near NUMA node 1. */
  readonly devices: string;
  /** File of its call log. */
  readonly callsFile: string;
  readonly preStartRequired?: boolean;
  /** Preferred devices, if any. */
  readonly preferred?: readonly string[];
  /** Mounted into containers as `/plugin`. */
  readonly mount: string;
  /** Plugin directory in which it registers, in place of calling the agent. */
  readonly registryDir?: string;
}
