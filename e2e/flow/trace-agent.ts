/** The agent as a separate process that reports the files whose functions run. At every SIGUSR2 it appends those since
 *  the last one to the file `TRACE_FILE`, as a line of JSON. */
import { appendFile } from 'node:fs/promises';
import { startFunctionCoverage } from '../../testing/function-coverage.ts';

const coverage = await startFunctionCoverage();
process.on('SIGUSR2', () => {
  void coverage
    .take()
    .then((files) => appendFile(process.env['TRACE_FILE'] ?? '', `${JSON.stringify([...files])}\n`));
});
await import('../../testing/agent-process.ts');
