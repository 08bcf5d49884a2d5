/** `/debug/flags/v`: how much the agent logs, changed while it runs. */
import { StatusError } from '#api/meta/status-error.ts';
import { type NodeEndpoint, text } from './endpoint.ts';

const INDEX = `flags:
/debug/flags/v  PUT a number: how much is logged
`;

export const debugFlagsEndpoint = (setVerbosity: (verbosity: number) => void): NodeEndpoint => ({
  name: 'debug/flags',
  methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
  async handle({ method, rest, body }) {
    const path = rest.join('/');
    if (path === '' && method === 'GET') return text(INDEX);
    if (path !== 'v') throw new StatusError('NotFound', '404 page not found');
    // In the words and with the number that its clients know.
    if (method !== 'PUT') return text('unrecognized http method\n', 406);
    const words = (await body()).trim();
    if (!/^\d{1,3}$/.test(words)) {
      throw new StatusError(
        'BadRequest',
        `failed set klog.logging.verbosity ${words.slice(0, 20)}: not a number`,
      );
    }
    setVerbosity(Number(words));
    return text(`successfully set klog.logging.verbosity to ${words}`);
  },
});
