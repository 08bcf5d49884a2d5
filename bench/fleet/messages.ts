/** What the processes of hollow agents and whoever started them say to each other. */

export interface AgentsOptions {
  /** Names of the nodes. */
  readonly names: readonly string[];
  /** Each agent has a folder in it. */
  readonly dir: string;
  readonly bootstrapConfig: string;
  /** Agents that are started per second. */
  readonly perSecond: number;
}

export type ToAgents =
  | { readonly kind: 'start'; readonly options: AgentsOptions }
  | { readonly kind: 'stop' };

export type FromAgents =
  | { readonly kind: 'up'; readonly count: number }
  | { readonly kind: 'failed'; readonly message: string };
