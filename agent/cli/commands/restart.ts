/** `nodeagent restart` */
import { isObject } from '#api/kit/object.ts';
import { fetchPods } from '../client/responses.ts';
import { type Command, defineCommand } from '../command.ts';
import { UsageError } from '../errors.ts';
import { findPod, parsePodName } from '../listing/find-pod.ts';
import { printable } from '../views/table.ts';

export const command: Command = defineCommand({
  name: 'restart',
  summary:
    'Restarts the containers of pods: stops them with the grace period of the pod, then the agent starts them again.\n' +
    '  The pod and its volumes stay.',
  usage: ['POD… [options]'],
  options: {
    container: { type: 'string', short: 'c', value: 'NAME', help: 'only this container' },
    namespace: { type: 'string', short: 'n', value: 'NAME', help: 'namespace of the pods (default)' },
  },
  examples: [
    ['restart web', 'all containers of a pod'],
    ['restart web -c proxy', 'one container'],
  ],
  async run(args, { api, out, signal }) {
    if (args.positionals.length === 0) throw new UsageError('restart requires a POD');
    const pods = await fetchPods(api);
    const chosen = args.positionals.map((text) => findPod(pods, parsePodName(text, args.text('namespace'))));
    for (const { metadata } of chosen) {
      const path = ['pods', metadata?.namespace ?? '', metadata?.name ?? '', 'restart'];
      const query = { container: args.text('container') };
      const response = await api.json({ method: 'POST', path, query, signal });
      const names: unknown = isObject(response) ? response['containers'] : undefined;
      const shown = Array.isArray(names) ? names.filter((name) => typeof name === 'string').join(', ') : '';
      await out.write(`pod/${metadata?.name ?? ''} restarted: ${printable(shown)}\n`);
    }
    return 0;
  },
});
