/** `nodeagent leave` */
import { resolve } from 'node:path';
import { type OptionTable, parseArguments } from '../args/arguments.ts';
import type { Command } from '../command.ts';
import { UsageError } from '../errors.ts';
import { renderHelp } from '../help.ts';
import { printable } from '../views/table.ts';

const DEFAULT_CONFIG = '/etc/nodeagent/config.yaml';

const OPTIONS = {
  config: { type: 'string', value: 'FILE', help: `agent configuration file (${DEFAULT_CONFIG})` },
  help: { type: 'boolean', short: 'h', help: 'show this help' },
} as const satisfies OptionTable;

const HELP = {
  name: 'leave',
  summary:
    'Undoes `nodeagent join`: removes its settings, certificates and keys, and restarts an installed nodeagent.service. Delete the Node object on the API server afterwards.',
  usage: ['[options]'],
  options: OPTIONS,
  examples: [['leave', 'return to a standalone node; pods of manifests keep running']],
} as const;

export const command: Command = {
  name: 'leave',
  help: HELP,
  async run(argv, { out, cwd }) {
    const args = parseArguments(argv, OPTIONS);
    if (args.has('help')) {
      await out.write(renderHelp(HELP));
      return 0;
    }
    if (args.positionals.length > 0) throw new UsageError('leave takes no arguments');
    const configFile = resolve(cwd, args.text('config') ?? DEFAULT_CONFIG);
    const [{ leaveCluster }, { restartInstalledAgent }] = await Promise.all([
      import('../../join/leave.ts'),
      import('#agent/install/agent-unit.ts'),
    ]);
    const lines: Promise<void>[] = [];
    const say = (text: string): void => void lines.push(out.write(`${printable(text)}\n`));
    try {
      if (!(await leaveCluster(configFile, say))) {
        say(`${configFile} belongs to no joined cluster`);
        return 1;
      }
      say(
        'this machine has left the cluster; delete its Node object on the API server: kubectl delete node NAME',
      );
      await restartInstalledAgent(configFile, say);
      return 0;
    } finally {
      await Promise.all(lines);
    }
  },
};
