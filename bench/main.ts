/** `npm run bench [-- --json FILE] [-- NAME…]`: measures the budgets of the node on this machine, as root.
 *  Shows a missed budget and goes on; fails only when nothing could be measured. */
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { asError } from '#api/kit/clock.ts';
import type { Row } from './row.ts';
import { adoption } from './rows/adoption.ts';
import { agentStart } from './rows/agent-start.ts';
import { containerRestart } from './rows/container-restart.ts';
import { idleCpu, memory } from './rows/idle.ts';
import { manyPods } from './rows/many-pods.ts';
import { podStart } from './rows/pod-start.ts';
import { type Bench, setUpBench } from './setup.ts';
import { formatTable, judge, type Result, unmeasured } from './table.ts';

/** In this order: the rows with the full set of pods come one after the other. */
const ROWS: readonly Row[] = [agentStart, podStart, containerRestart, manyPods, idleCpu, memory, adoption];

function chooseRows(names: readonly string[]): readonly Row[] {
  const unknown = names.filter((name) => !ROWS.some((row) => row.name === name));
  if (unknown.length > 0) {
    throw new Error(`no row ${unknown.join(', ')}; there are ${ROWS.map(({ name }) => name).join(', ')}`);
  }
  return names.length === 0 ? ROWS : ROWS.filter(({ name }) => names.includes(name));
}

async function runRow(row: Row, bench: Bench): Promise<Result> {
  try {
    return judge(row, await row.measure(bench));
  } catch (thrown) {
    return unmeasured(row, asError(thrown).message);
  }
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { json: { type: 'string' } },
    allowPositionals: true,
  });
  const rows = chooseRows(positionals);
  if (process.getuid?.() !== 0) throw new Error('the benchmark runs real containers and needs root');
  const say = (line: string): void => console.error(`bench: ${line}`);
  await using stack = new AsyncDisposableStack();
  const bench = await setUpBench(stack, say);
  const results: (readonly [Row, Result])[] = [];
  for (const row of rows) results.push([row, await runRow(row, bench)]);
  console.log(formatTable(results));
  if (values.json !== undefined) {
    const text = JSON.stringify({ rows: results.map(([, result]) => result) }, undefined, 2);
    await writeFile(values.json, `${text}\n`);
  }
  say('cleaning up');
}

await main();
