/** Health of the agent and the liveness endpoint for supervisors. The endpoint fails only if the agent does
 *  not respond: restarting the agent does not repair an unavailable runtime. `?verbose` lists what the agent
 *  is waiting for. */
import type { Clock } from '#api/kit/clock.ts';
import { formatWait, type Waits } from '#api/kit/waits.ts';
import type { Route } from './routes.ts';

export interface AgentHealth {
  /** Reason why pods are not synced; undefined while they are, or while the outage is short. */
  readonly syncProblem: () => string | undefined;
  /** One line for each condition that the agent is waiting for. */
  readonly waitLines: () => readonly string[];
}

/** Runtime outage after which upstream reports unhealthy, in ms. */
const RUNTIME_AWAY_MS = 120_000;

export interface AgentHealthDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly waits: Pick<Waits, 'lasting'>;
  /** Prefix of waits for the runtime. */
  readonly runtimeWait: string;
}

export function createAgentHealth({ clock, waits, runtimeWait }: AgentHealthDeps): AgentHealth {
  return {
    syncProblem() {
      const wait = waits.lasting().find(({ what }) => what.startsWith(`${runtimeWait} `));
      if (wait === undefined || clock.now() - wait.sinceMs < RUNTIME_AWAY_MS) return undefined;
      return `waiting for ${formatWait(wait, clock.now())}`;
    },
    waitLines: () => waits.lasting().map((wait) => `waiting for ${formatWait(wait, clock.now())}\n`),
  };
}

export function healthRoutes(health: AgentHealth): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/healthz',
      handle: ({ query }) => {
        if (!query.has('verbose')) return { kind: 'text', text: 'ok' };
        return { kind: 'text', text: `[+]ping ok\n${health.waitLines().join('')}healthz check passed\n` };
      },
    },
    { method: 'GET', path: '/healthz/ping', handle: () => ({ kind: 'text', text: 'ok' }) },
    {
      method: 'GET',
      path: '/healthz/syncloop',
      handle: () => {
        const problem = health.syncProblem();
        if (problem === undefined) return { kind: 'text', text: 'ok' };
        return { kind: 'text', status: 500, text: `internal server error: ${problem}\n` };
      },
    },
  ];
}
