/** What a device plugin of the tests is told at its start. */
export interface TestPluginOptions {
  /** Folder of the agent's socket; its own goes there too. */
  readonly dir: string;
  /** Name of the agent's socket. */
  readonly agentSocket: string;
  readonly resource: string;
  /** `a b! c@1`: healthy ones, one that is not, one near memory node 1. */
  readonly devices: string;
  /** Where it keeps its list of calls. */
  readonly callsFile: string;
  readonly preStartRequired?: boolean;
  /** Devices that it prefers, if it has preferences. */
  readonly preferred?: readonly string[];
  /** Mounted into containers as `/plugin`. */
  readonly mount: string;
  /** Folder of plugins in which it registers, in place of calling the agent. */
  readonly registryDir?: string;
}
