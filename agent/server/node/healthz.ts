/** `/healthz`, as a whole and by its checks. Who can answer at all is well: each check is of the thread that answers. */
import { StatusError } from '#api/meta/status-error.ts';
import { type NodeEndpoint, text } from './endpoint.ts';

const CHECKS = ['ping', 'log', 'syncloop'];

export const healthzEndpoint: NodeEndpoint = {
  name: 'healthz',
  methods: ['GET'],
  handle({ rest, query }) {
    const [check, ...more] = rest;
    if (check !== undefined && (more.length > 0 || !CHECKS.includes(check))) {
      throw new StatusError('NotFound', '404 page not found');
    }
    if (check !== undefined || !query.has('verbose')) return text('ok');
    const left = new Set(query.getAll('exclude'));
    const lines = CHECKS.map((name) => `[+]${name} ${left.has(name) ? 'excluded: ok' : 'ok'}\n`);
    return text(`${lines.join('')}healthz check passed\n`);
  },
};
