/** Health of the agent, and the endpoint that supervisors ask. That one fails only if nobody answers: what is wrong with
 *  the runtime is not mended by restarting the agent. `?verbose` lists what the agent waits on. */
import type { Clock } from '#api/kit/clock.ts';
import { formatWait, type Waits } from '#api/kit/waits.ts';
import type { Route } from './routes.ts';

export interface AgentHealth {
  /** Why pods are not worked on; undefined when they are, or when that has not lasted long. */
  readonly syncFault: () => string | undefined;
  /** Lines of what the agent waits on. */
  readonly waitLines: () => readonly string[];
}

/** As long as upstream lets it be, in ms. */
const RUNTIME_AWAY_MS = 120_000;

export interface AgentHealthDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly waits: Pick<Waits, 'lasting'>;
  /** How waits for the runtime begin. */
  readonly runtimeWait: string;
}

export function createAgentHealth({ clock, waits, runtimeWait }: AgentHealthDeps): AgentHealth {
  return {
    syncFault() {
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
        const fault = health.syncFault();
        if (fault === undefined) return { kind: 'text', text: 'ok' };
        return { kind: 'text', status: 500, text: `internal server error: ${fault}\n` };
      },
    },
  ];
}
