/** `/debug/flags/v`: changes the log verbosity at run time. */
import { StatusError } from '#api/meta/status-error.ts';
import { type NodeEndpoint, text } from './endpoint.ts';

const INDEX = `flags:
/debug/flags/v  PUT a number: the log verbosity
`;

export const debugFlagsEndpoint = (setVerbosity: (verbosity: number) => void): NodeEndpoint => ({
  name: 'debug/flags',
  methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
  async handle({ method, rest, body }) {
    const path = rest.join('/');
    if (path === '' && method === 'GET') return text(INDEX);
    if (path !== 'v') throw new StatusError('NotFound', '404 page not found');
    // Text and status are those that upstream clients expect.
    if (method !== 'PUT') return text('unrecognized http method\n', 406);
    const value = (await body()).trim();
    if (!/^\d{1,3}$/.test(value)) {
      throw new StatusError(
        'BadRequest',
        `failed set klog.logging.verbosity ${value.slice(0, 20)}: not a number`,
      );
    }
    setVerbosity(Number(value));
    return text(`successfully set klog.logging.verbosity to ${value}`);
  },
});
