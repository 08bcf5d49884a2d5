/** The health endpoint. The agent is healthy when it answers: what is wrong with a pod or the runtime is theirs. */
import type { Route } from './routes.ts';

export function healthRoutes(): readonly Route[] {
  return [
    { method: 'GET', path: '/healthz', handle: () => ({ kind: 'text', text: 'ok' }) },
    { method: 'GET', path: '/healthz/ping', handle: () => ({ kind: 'text', text: 'ok' }) },
  ];
}
