/** Delegates `install` and `uninstall` to the packaging, which is loaded only for them. */

import { asError, errorCode } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Command } from '../command.ts';
import type { Output } from '../context.ts';
import { UsageError } from '../errors.ts';
import type { HelpFacts } from '../help.ts';
import { printable } from '../views/table.ts';

const ROOT = {
  type: 'string',
  value: 'DIR',
  help: 'work below this directory; start and stop nothing',
} as const;
const HELP_OPTION = { type: 'boolean', short: 'h', help: 'show this help' } as const;

const HELPS: Readonly<Record<'install' | 'uninstall', HelpFacts>> = {
  install: {
    name: 'install',
    summary: 'Installs nodeagent as a systemd service and starts it.',
    usage: ['[options]'],
    options: {
      root: ROOT,
      'container-runtime-endpoint': {
        type: 'string',
        value: 'unix:///…',
        help: 'use this runtime instead of a private containerd',
      },
      'no-start': { type: 'boolean', help: 'install without starting' },
      help: HELP_OPTION,
    },
    examples: [['install', 'install or upgrade']],
  },
  uninstall: {
    name: 'uninstall',
    summary: 'Stops the agent and its pods and removes the installed files.',
    usage: ['[options]'],
    options: {
      root: ROOT,
      purge: { type: 'boolean', help: 'also remove configuration, manifests, images and data' },
      help: HELP_OPTION,
    },
    examples: [['uninstall --purge', 'remove everything']],
  },
};

export function installCommand(name: 'install' | 'uninstall'): Command {
  return {
    name,
    help: HELPS[name],
    async run(argv, { out, err }) {
      const { runInstallCommand } = await import('#agent/install/main.ts');
      const lines: Promise<void>[] = [];
      const say = (text: string): void => void lines.push(out.write(`${text.trimEnd()}\n`));
      try {
        await runInstallCommand(name, argv, { log: warningsTo(err, lines), say });
        await Promise.all(lines);
        return 0;
      } catch (thrown) {
        throw isArgumentError(thrown) ? new UsageError(thrown.message, { cause: thrown }) : asError(thrown);
      }
    },
  };
}

const isArgumentError = (thrown: unknown): thrown is TypeError =>
  thrown instanceof TypeError && errorCode(thrown)?.startsWith('ERR_PARSE_ARGS') === true;

/** Prints warnings and errors as plain lines; drops everything else. */
function warningsTo(err: Output, lines: Promise<void>[]): Logger {
  const print = (fields: object, message: string): void => {
    const cause = 'err' in fields ? `: ${asError(fields.err).message}` : '';
    lines.push(err.write(`nodeagent: ${printable(`${message}${cause}`)}\n`));
  };
  const silent = (): void => undefined;
  const log: Logger = {
    error: print,
    warn: print,
    info: silent,
    debug: silent,
    trace: silent,
    child: () => log,
  };
  return log;
}
