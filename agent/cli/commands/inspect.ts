/** `nodeagent inspect` */
import { NAMESPACE_OPTION } from '../args/pod-options.ts';
import { fetchPods } from '../client/responses.ts';
import { type Command, defineCommand } from '../command.ts';
import { UsageError } from '../errors.ts';
import { findPod, parsePodName } from '../listing/find-pod.ts';
import { DATA_HELP, parseDataFormat } from '../output/output-format.ts';
import { printData } from '../output/print.ts';

export const command: Command = defineCommand({
  name: 'inspect',
  summary: 'Shows a pod together with its sandboxes and containers as the runtime reports them.',
  usage: ['POD [options]'],
  options: {
    namespace: NAMESPACE_OPTION,
    output: { type: 'string', short: 'o', value: 'FORMAT', help: `${DATA_HELP} (json)` },
  },
  examples: [
    ['inspect web', 'everything about a pod'],
    [`inspect web -o jsonpath='{.containers[*].logPath}'`, 'the log files of its containers'],
  ],
  async run(args, { api, out, signal }) {
    const [text, ...others] = args.positionals;
    if (text === undefined || others.length > 0) throw new UsageError('inspect requires one POD');
    const format = parseDataFormat(args.text('output')) ?? { kind: 'json' };
    const { metadata } = findPod(await fetchPods(api), parsePodName(text, args.text('namespace')));
    const path = ['inspect', metadata?.namespace ?? '', metadata?.name ?? ''];
    await printData(out, format, await api.json({ path, signal }));
    return 0;
  },
});
