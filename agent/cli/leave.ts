/** `nodeagent leave` */
import { resolve } from 'node:path';
import { type OptionTable, parseArguments } from './arguments.ts';
import type { Command } from './command.ts';
import { UsageError } from './errors.ts';
import { renderHelp } from './help.ts';
import { printable } from './table.ts';

const DEFAULT_CONFIG = '/etc/nodeagent/config.yaml';

const OPTIONS = {
  config: { type: 'string', value: 'FILE', help: `the agent's configuration (${DEFAULT_CONFIG})` },
  help: { type: 'boolean', short: 'h', help: 'show this' },
} as const satisfies OptionTable;

const HELP = {
  name: 'leave',
  summary:
    'Undoes `nodeagent join`: removes its settings, certificates and keys, and restarts an installed nodeagent.service. Delete the node object on the API server afterwards.',
  usage: ['[options]'],
  options: OPTIONS,
  examples: [['leave', 'this machine is a standalone node again; pods of manifests run on']],
} as const;

export const command: Command = {
  name: 'leave',
  async run(argv, { out, cwd }) {
    const args = parseArguments(argv, OPTIONS);
    if (args.has('help')) {
      await out.write(renderHelp(HELP));
      return 0;
    }
    if (args.positionals.length > 0) throw new UsageError('leave takes no names');
    const configFile = resolve(cwd, args.text('config') ?? DEFAULT_CONFIG);
    const [{ leaveCluster }, { restartInstalledAgent }] = await Promise.all([
      import('../join/leave.ts'),
      import('#packaging/agent-unit.ts'),
    ]);
    const lines: Promise<void>[] = [];
    const say = (text: string): void => void lines.push(out.write(`${printable(text)}\n`));
    try {
      if (!(await leaveCluster(configFile, say))) {
        say(`this machine has not joined a cluster with ${configFile}`);
        return 1;
      }
      say('this machine has left; on the API server, delete its node: kubectl delete node NAME');
      await restartInstalledAgent(configFile, say);
      return 0;
    } finally {
      await Promise.all(lines);
    }
  },
};
