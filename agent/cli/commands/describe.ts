/** `nodeagent describe` */

import { parseKind } from '../args/kinds.ts';
import { NAMESPACE_OPTION } from '../args/pod-options.ts';
import { fetchEvents, fetchPods } from '../client/responses.ts';
import { type Command, defineCommand } from '../command.ts';
import { UsageError } from '../errors.ts';
import { findPod, parsePodName } from '../listing/find-pod.ts';
import { describePod } from '../views/describe-pod.ts';

export const command: Command = defineCommand({
  name: 'describe',
  summary: 'Shows details of a pod: containers, states, mounts, conditions, volumes, events.',
  usage: ['[pod] NAME [options]'],
  options: {
    namespace: NAMESPACE_OPTION,
  },
  examples: [['describe pod web', 'find out why a pod does not run']],
  async run(args, { api, out, clock }) {
    const [first, ...others] = args.positionals;
    if (first === undefined) throw new UsageError('describe requires the NAME of a pod');
    // A pod may have the name of a type; a single argument is always the pod name.
    if (others.length > 0 && parseKind(first) !== 'Pod') throw new UsageError('describe supports only pods');
    const names = others.length > 0 ? others : [first];
    const pods = await fetchPods(api);
    for (const [index, text] of names.entries()) {
      const pod = findPod(pods, parsePodName(text, args.text('namespace')));
      const { namespace, name } = pod.metadata ?? {};
      const events = await fetchEvents(api, { kind: 'Pod', namespace, name });
      await out.write(`${index === 0 ? '' : '\n'}${describePod(pod, events, clock.now())}`);
    }
    return 0;
  },
});
