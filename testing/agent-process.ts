/** The agent as a separate process: flags in, exit code out. */
import { readFile } from 'node:fs/promises';
import { loadConfig } from '#agent/config/load.ts';
import { runAgent } from '#agent/main.ts';

const result = await loadConfig(process.argv.slice(2), {
  readFile: (path) => readFile(path),
  cwd: process.cwd(),
});
if (result.kind !== 'ok') {
  console.error(JSON.stringify(result));
  process.exit(1);
}
// Not process.exit: an agent that leaves handles open must be detected.
process.exitCode = await runAgent(result.config, result);
