/** `/healthz` and its individual checks. The only check that can fail is `syncloop`: as upstream, it fails
 *  after the runtime has been unavailable for a while. */
import { StatusError } from '#api/meta/status-error.ts';
import type { AgentHealth } from '../health.ts';
import { type NodeEndpoint, text } from './endpoint.ts';

const CHECKS = ['ping', 'log', 'syncloop'];

export const healthzEndpoint = (health: AgentHealth): NodeEndpoint => ({
  name: 'healthz',
  methods: ['GET'],
  handle({ rest, query }) {
    const [check, ...more] = rest;
    if (check !== undefined && (more.length > 0 || !CHECKS.includes(check))) {
      throw new StatusError('NotFound', '404 page not found');
    }
    const left = new Set(query.getAll('exclude'));
    const problem = health.syncProblem();
    const fails = (name: string): boolean => name === 'syncloop' && problem !== undefined && !left.has(name);
    if (check !== undefined) {
      return fails(check) ? text(`internal server error: ${problem}\n`, 500) : text('ok');
    }
    const failed = CHECKS.some(fails);
    if (!failed && !query.has('verbose')) return text('ok');
    const lineOf = (name: string): string => {
      if (left.has(name)) return `[+]${name} excluded: ok\n`;
      return fails(name) ? `[-]${name} failed: reason withheld\n` : `[+]${name} ok\n`;
    };
    const lines = [...CHECKS.map(lineOf), ...(query.has('verbose') ? health.waitLines() : [])].join('');
    return failed ? text(`${lines}healthz check failed\n`, 500) : text(`${lines}healthz check passed\n`);
  },
});
