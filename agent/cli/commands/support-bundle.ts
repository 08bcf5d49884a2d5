/** `nodeagent support-bundle` */
import { open } from 'node:fs/promises';
import { arch, release } from 'node:os';
import { resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { AGENT_VERSION } from '../../version.ts';
import { type Command, defineCommand } from '../command.ts';
import { formatHeader, padded } from '../containers/tar-header.ts';
import { CommandError, UsageError } from '../errors.ts';
import { createRedactor } from '../support/redact.ts';
import { collectReports } from './support-reports.ts';

export const command: Command = defineCommand({
  name: 'support-bundle',
  summary:
    'Writes an archive for a bug report: versions, configuration, pods, events, waits and the checks of doctor. Values\n' +
    '  of secrets, environment variables, annotations and command lines are not part of it.',
  usage: ['[options]'],
  options: {
    output: {
      type: 'string',
      short: 'o',
      value: 'FILE',
      help: 'archive to write (nodeagent-support.tar.gz)',
    },
  },
  examples: [['support-bundle -o report.tar.gz', 'write an archive, and inspect it before you attach it']],
  async run(args, context) {
    if (args.positionals.length > 0) throw new UsageError('support-bundle takes no arguments');
    const name = args.text('output') ?? 'nodeagent-support.tar.gz';
    const redact = createRedactor();
    const system = { version: AGENT_VERSION, node: process.version, kernel: release(), arch: arch() };
    const reports = [{ name: 'system.json', value: system }, ...(await collectReports(context))];
    const seconds = context.clock.now() / 1000;
    const files = reports.map((report) => {
      const data = Buffer.from(`${JSON.stringify(redact(report.value), undefined, 2)}\n`);
      const path = `nodeagent-support/${report.name}`;
      const header = { path, mode: 0o600, sizeBytes: data.length, mtimeSeconds: seconds, type: '0' } as const;
      return Buffer.concat([formatHeader(header), padded(data)]);
    });
    const archive = gzipSync(Buffer.concat([...files, Buffer.alloc(1024)]));
    await using file = await open(resolve(context.cwd, name), 'wx', 0o600).catch((cause: unknown) => {
      throw new CommandError(`cannot write ${name}`, { cause });
    });
    await file.writeFile(archive);
    await context.out.write(
      `${name}: ${reports.length} files, ${archive.length} bytes; inspect it before you attach it\n`,
    );
    return 0;
  },
});
