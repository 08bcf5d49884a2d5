/** Entry point of `npm start`: arguments, environment and signals. */
import { resolve } from 'node:path';
import { pino } from 'pino';
import { systemClock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { DEFAULT_DEMO_ROOT, demoLayout } from './layout.ts';
import { DEMO_HELP, DemoUsageError, parseDemoOptions } from './options.ts';
import type { ProgressOutput } from './progress.ts';
import { startDemo } from './start.ts';
import { stopDemo } from './stop.ts';

const output: ProgressOutput = {
  write: (text) => void process.stdout.write(text),
  get columns() {
    return process.stdout.isTTY ? process.stdout.columns : undefined;
  },
};

async function main(): Promise<void> {
  const command = parseDemoOptions(process.argv.slice(2));
  if (command.kind === 'help') return output.write(DEMO_HELP);
  const repository = resolve(import.meta.dirname, '..', '..');
  const sudo = process.env['SUDO_UID'] !== undefined;
  const root = process.env['NODEAGENT_DEMO_ROOT'];
  const layout = demoLayout(root === undefined || root === '' ? DEFAULT_DEMO_ROOT : root);
  const log: Logger = pino({ level: command.kind === 'stop' ? 'error' : 'warn' }, pino.destination(2));
  const deps = { clock: systemClock, log };
  if (command.kind === 'stop') {
    return stopDemo({ ...deps, say: (text) => output.write(`${text}\n`) }, layout);
  }
  const interrupted = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => interrupted.abort());
  }
  const { runtime, detach } = command;
  const workingDir = process.env['INIT_CWD'] ?? process.cwd();
  await startDemo(
    { ...deps, output },
    { layout, repository, workingDir, runtime, detach, sudo },
    interrupted.signal,
  );
}

try {
  await main();
  process.exit(0);
} catch (thrown) {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  process.stderr.write(`npm start: ${message}\n`);
  if (thrown instanceof DemoUsageError) process.stderr.write('npm start -- --help lists the options.\n');
  process.exit(1);
}
