/** `nodeagent explain` */

import { parseKind } from '../args/kinds.ts';
import { type Command, defineCommand } from '../command.ts';
import { CommandError, UsageError } from '../errors.ts';
import { explainFields, findNode } from '../views/explain-view.ts';

export const command: Command = defineCommand({
  name: 'explain',
  summary: 'Shows the fields of a type: names, types, defaults and allowed values.',
  usage: ['TYPE[.FIELD…] [options]'],
  options: { recursive: { type: 'boolean', help: 'also show the fields of fields' } },
  examples: [
    ['explain pod.spec.containers.livenessProbe', 'the fields of a probe'],
    ['explain configmap --recursive', 'every field of a type'],
  ],
  async run(args, { out }) {
    const [path, ...others] = args.positionals;
    if (path === undefined || others.length > 0) throw new UsageError('explain requires one TYPE[.FIELD…]');
    const [type = '', ...fields] = path.split('.');
    const kind = parseKind(type);
    const node = findNode(kind, fields);
    if (node.kind === 'unknown') throw new CommandError(node.message);
    await out.write(explainFields(kind, fields, node.type, args.has('recursive')));
    return 0;
  },
});
