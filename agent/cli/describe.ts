/** `nodeagent describe` */
import { fetchEvents, fetchPods } from './answers.ts';
import { type Command, defineCommand } from './command.ts';
import { describePod } from './describe-pod.ts';
import { UsageError } from './errors.ts';
import { findPod, parsePodName } from './find-pod.ts';
import { parseKind } from './kinds.ts';

export const command: Command = defineCommand({
  name: 'describe',
  summary: 'Tells everything about a pod: containers, states, mounts, conditions, volumes, events.',
  usage: ['[pod] NAME [options]'],
  options: {
    namespace: { type: 'string', short: 'n', value: 'NAME', help: 'the pod’s namespace (default)' },
  },
  examples: [['describe pod web', 'why does it not run?']],
  async run(args, { api, out, clock }) {
    const [first, ...others] = args.positionals;
    if (first === undefined) throw new UsageError('describe needs the NAME of a pod');
    // A pod may be called like a type; with one word it is the name.
    if (others.length > 0 && parseKind(first) !== 'Pod') throw new UsageError('describe knows only pods');
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
