/** `npm run bench [-- --json FILE] [-- NAME…]`: measures the budgets of the node and of the API server on this
 *  machine, as root. Shows a missed budget and goes on; fails only when nothing could be measured. */
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { asError } from '#api/kit/clock.ts';
import { planeRows } from './plane/rows.ts';
import { setUpPlane } from './plane/setup.ts';
import type { RowOn } from './row.ts';
import { adoption } from './rows/adoption.ts';
import { agentStart } from './rows/agent-start.ts';
import { containerRestart } from './rows/container-restart.ts';
import { idleCpu, memory } from './rows/idle.ts';
import { manyPods } from './rows/many-pods.ts';
import { podStart } from './rows/pod-start.ts';
import { setUpBench } from './setup.ts';
import { formatTable, judge, type Result, type RowFacts, unmeasured } from './table.ts';

type Say = (line: string) => void;
type Judged = readonly (readonly [RowFacts, Result])[];

/** Rows that are measured on the same set-up, one after the other. */
interface Group {
  readonly rows: readonly RowFacts[];
  /** Measures those of its rows that are chosen. */
  readonly run: (isChosen: (row: RowFacts) => boolean, say: Say) => Promise<Judged>;
}

function groupOf<B>(
  rows: readonly RowOn<B>[],
  setUp: (stack: AsyncDisposableStack, say: Say) => Promise<B>,
): Group {
  return {
    rows,
    async run(isChosen, say) {
      const chosen = rows.filter(isChosen);
      if (chosen.length === 0) return [];
      await using stack = new AsyncDisposableStack();
      const bench = await setUp(stack, say);
      const results: (readonly [RowFacts, Result])[] = [];
      for (const row of chosen) {
        say(row.title);
        results.push([row, await runRow(row, bench)]);
      }
      say('cleaning up');
      return results;
    },
  };
}

async function runRow<B>(row: RowOn<B>, bench: B): Promise<Result> {
  try {
    return judge(row, await row.measure(bench));
  } catch (thrown) {
    return unmeasured(row, asError(thrown).message);
  }
}

/** In this order: the rows with the full set of pods come one after the other. */
const GROUPS: readonly Group[] = [
  groupOf([agentStart, podStart, containerRestart, manyPods, idleCpu, memory, adoption], setUpBench),
  groupOf(planeRows('embedded'), (stack, say) => setUpPlane('embedded', stack, say)),
  groupOf(planeRows('etcd'), (stack, say) => setUpPlane('etcd', stack, say)),
];

function choose(names: readonly string[]): (row: RowFacts) => boolean {
  const known = GROUPS.flatMap(({ rows }) => rows.map(({ name }) => name));
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new Error(`no row ${unknown.join(', ')}; there are ${known.join(', ')}`);
  return ({ name }) => names.length === 0 || names.includes(name);
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { json: { type: 'string' } },
    allowPositionals: true,
  });
  const isChosen = choose(positionals);
  if (process.getuid?.() !== 0) throw new Error('the benchmark runs real containers and needs root');
  const say = (line: string): void => console.error(`bench: ${line}`);
  const results: (readonly [RowFacts, Result])[] = [];
  for (const group of GROUPS) results.push(...(await group.run(isChosen, say)));
  console.log(formatTable(results));
  if (values.json !== undefined) {
    const text = JSON.stringify({ rows: results.map(([, result]) => result) }, undefined, 2);
    await writeFile(values.json, `${text}\n`);
  }
}

await main();
