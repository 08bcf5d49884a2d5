/** Hands `install` and `uninstall` on to the packaging, which is loaded only for them. */
import { asError } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Command } from './command.ts';
import type { Output } from './context.ts';
import { UsageError } from './errors.ts';
import { printable } from './table.ts';

export function installCommand(name: 'install' | 'uninstall'): Command {
  return {
    name,
    async run(argv, { out, err }) {
      const { runInstallCommand } = await import('#packaging/main.ts');
      const lines: Promise<void>[] = [];
      const say = (text: string): void => void lines.push(out.write(`${text.trimEnd()}\n`));
      try {
        await runInstallCommand(name, argv, { log: warningsTo(err, lines), say });
        await Promise.all(lines);
        return 0;
      } catch (thrown) {
        throw isArgumentFault(thrown) ? new UsageError(thrown.message, { cause: thrown }) : asError(thrown);
      }
    },
  };
}

const isArgumentFault = (thrown: unknown): thrown is TypeError =>
  thrown instanceof TypeError &&
  'code' in thrown &&
  typeof thrown.code === 'string' &&
  thrown.code.startsWith('ERR_PARSE_ARGS');

/** Warnings and errors as lines for people; the rest is not for them. */
function warningsTo(err: Output, lines: Promise<void>[]): Logger {
  const tell = (fields: object, message: string): void => {
    const cause = 'err' in fields ? `: ${asError(fields.err).message}` : '';
    lines.push(err.write(`nodeagent: ${printable(`${message}${cause}`)}\n`));
  };
  const silent = (): void => undefined;
  const log: Logger = {
    error: tell,
    warn: tell,
    info: silent,
    debug: silent,
    trace: silent,
    child: () => log,
  };
  return log;
}
