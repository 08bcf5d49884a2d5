/** Messages between the processes of hollow agents and their parent. */

export interface AgentsOptions {
  /** Names of the nodes. */
  readonly names: readonly string[];
  /** Contains one directory per agent. */
  readonly dir: string;
  readonly bootstrapConfig: string;
  /** Agents started per second. */
  readonly perSecond: number;
}

export type ToAgents =
  | { readonly kind: 'start'; readonly options: AgentsOptions }
  | { readonly kind: 'stop' };

export type FromAgents =
  | { readonly kind: 'up'; readonly count: number }
  | { readonly kind: 'failed'; readonly message: string };
