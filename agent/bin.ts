#!/usr/bin/env node
/** Entry of the program `nodeagent`: the agent, or one of the commands that talk to it. */
import { isDaemonStart, runCommand } from './cli/main.ts';
import { keepHeapSmall } from './node/small-heap.ts';

async function main(argv: readonly string[]): Promise<number> {
  if (isDaemonStart(argv)) {
    // A volume whose server is gone may hold threads of the pool for ever: four would soon be none.
    process.env['UV_THREADPOOL_SIZE'] ??= '16';
    keepHeapSmall([...process.execArgv, ...(process.env['NODE_OPTIONS'] ?? '').split(' ')]);
    const { runDaemon } = await import('./cli/run.ts');
    return runDaemon(argv);
  }
  const { createProcessContext } = await import('./cli/process-context.ts');
  return runCommand(argv, createProcessContext());
}

// All output is written by now; whatever still waits, such as standard input, must not hold the end up.
process.exit(await main(process.argv.slice(2)));
