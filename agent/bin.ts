#!/usr/bin/env node
/** Entry point of the program `nodeagent`: runs the agent or one of the commands that connect to it. */
import { isDaemonStart, runCommand } from './cli/main.ts';
import { keepHeapSmall } from './node/small-heap.ts';

async function main(argv: readonly string[]): Promise<number> {
  if (isDaemonStart(argv)) {
    // A volume on an unreachable server may block pool threads for ever: four threads would soon be
    // exhausted.
    process.env['UV_THREADPOOL_SIZE'] ??= '16';
    keepHeapSmall([...process.execArgv, ...(process.env['NODE_OPTIONS'] ?? '').split(' ')]);
    const { runDaemon } = await import('./cli/run.ts');
    return runDaemon(argv);
  }
  const { createProcessContext } = await import('./cli/process-context.ts');
  return runCommand(argv, createProcessContext());
}

// All output is written by now; pending I/O such as standard input must not delay the exit.
process.exit(await main(process.argv.slice(2)));
