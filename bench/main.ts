/** Measures the budgets of the agent and of the API server on this machine, as root. Reports missed budgets and
 *  continues. */
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { asError } from '#api/kit/errno.ts';
import { readArguments } from '../scripts/arguments.ts';
import { DOCKER_ROWS } from './docker/rows.ts';
import { setUpDocker } from './docker/setup.ts';
import { evictionKill, evictionSignals } from './eviction/rows.ts';
import { setUpEviction } from './eviction/setup.ts';
import type { FleetSize } from './fleet/fleet.ts';
import { FLEET_ROWS } from './fleet/rows.ts';
import { LARGE, setUpFleet } from './fleet/run.ts';
import { PACKAGED_ROWS } from './packaged/rows.ts';
import { setUpPackaged } from './packaged/setup.ts';
import { planeRows, UPSTREAM_ROWS } from './plane/rows.ts';
import { setUpPlane } from './plane/setup.ts';
import { setUpUpstream } from './plane/upstream.ts';
import { withReferences } from './reference.ts';
import { retention, retentionContainerd } from './retention/rows.ts';
import { setUpRetention } from './retention/setup.ts';
import type { RowOn } from './row.ts';
import { adoption } from './rows/adoption.ts';
import { agentStart } from './rows/agent-start.ts';
import { containerRestart } from './rows/container-restart.ts';
import { idleCpu, memory } from './rows/idle.ts';
import { manyPods } from './rows/many-pods.ts';
import { podStart } from './rows/pod-start.ts';
import { metricsScrape, setUpScrape } from './scrape/rows.ts';
import { setUpBench } from './setup.ts';
import { formatTable, judge, type Result, type RowFacts, unmeasured } from './table.ts';
import { usageCpu, volumesCold, volumesRestart } from './volumes/mount-rows.ts';
import { setUpVolumes } from './volumes/setup.ts';

type Say = (line: string) => void;
type Judged = readonly (readonly [RowFacts, Result])[];

/** Rows with a common setup, measured one after the other. */
interface Group {
  readonly rows: readonly RowFacts[];
  /** Measures the selected rows. */
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

/** The order matters: rows with the full set of pods follow each other. */
const groups = (fleet: FleetSize): readonly Group[] => [
  groupOf([agentStart, podStart, containerRestart, manyPods, idleCpu, memory, adoption], setUpBench),
  groupOf(DOCKER_ROWS, setUpDocker),
  groupOf([volumesCold, volumesRestart, usageCpu], setUpVolumes),
  groupOf([evictionKill, evictionSignals], setUpEviction),
  groupOf([retention, retentionContainerd], setUpRetention),
  groupOf(planeRows('embedded'), (stack, say) => setUpPlane('embedded', stack, say)),
  groupOf(planeRows('etcd'), (stack, say) => setUpPlane('etcd', stack, say)),
  groupOf([metricsScrape], setUpScrape),
  groupOf(PACKAGED_ROWS, setUpPackaged),
  groupOf(UPSTREAM_ROWS, setUpUpstream),
  groupOf(FLEET_ROWS, (stack, say) => setUpFleet(fleet, stack, say)),
];

const PODS_OF_AN_AGENT = LARGE.pods / LARGE.agents;

/** Rows that run only on request, by their own name or that of the group: the fleet takes minutes and the
 *  whole machine, upstream's program may have to be built, packages are built, and thousands of real pods take half an
 *  hour. */
const ON_REQUEST: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['fleet', new Set(FLEET_ROWS.map(({ name }) => name))],
  ['upstream', new Set(UPSTREAM_ROWS.map(({ name }) => name))],
  ['packaged', new Set(PACKAGED_ROWS.map(({ name }) => name))],
  ['containerd', new Set([retentionContainerd.name])],
]);
const setOf = (row: RowFacts): string | undefined =>
  [...ON_REQUEST].find(([, names]) => names.has(row.name))?.[0];

function choose(all: readonly Group[], names: readonly string[]): (row: RowFacts) => boolean {
  const known = [...all.flatMap(({ rows }) => rows.map(({ name }) => name)), ...ON_REQUEST.keys()];
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new RangeError(`unknown row ${unknown.join(', ')}`);
  if (names.length === 0) return (row) => setOf(row) === undefined;
  return (row) => names.includes(row.name) || names.includes(setOf(row) ?? '');
}

/** @throws RangeError for an invalid number */
function amount(text: string | undefined, otherwise: number): number {
  const value = text === undefined ? otherwise : Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new RangeError(`${text} is not a number of agents or pods`);
}

interface BenchArguments {
  readonly all: readonly Group[];
  readonly isChosen: (row: RowFacts) => boolean;
  /** File for the results. */
  readonly json: string | undefined;
}

/** @throws Error for an invalid argument, or without root */
function parseArguments(): BenchArguments {
  const { values, positionals } = parseArgs({
    options: { json: { type: 'string' }, agents: { type: 'string' }, pods: { type: 'string' } },
    allowPositionals: true,
  });
  const agents = amount(values.agents, LARGE.agents);
  const all = groups({ ...LARGE, agents, pods: amount(values.pods, agents * PODS_OF_AN_AGENT) });
  const isChosen = choose(all, positionals);
  if (process.getuid?.() !== 0) throw new Error('the benchmark runs real containers and needs root');
  return { all, isChosen, json: values.json };
}

function usage(): string {
  const rows = groups(LARGE).flatMap((group) => group.rows);
  const usual = rows.filter((row) => setOf(row) === undefined).map(({ name }) => name);
  const onRequest = [...ON_REQUEST].map(([set, names]) => `  ${set}: ${[...names].join(', ')}`);
  return `npm run bench [-- [options] [NAME…]]

Measures the budgets of the agent and of the API server on this machine, as root. Without a NAME, measures all rows
except those that run only on request.

Rows: ${usual.join(', ')}
Only on request, by the name of the row or of its set:
${onRequest.join('\n')}

  --json FILE    write the results to FILE
  --agents N     number of agents of the fleet; default ${LARGE.agents}
  --pods N       number of pods of the fleet; default ${PODS_OF_AN_AGENT} for each agent
`;
}

async function main(): Promise<void> {
  const { all, isChosen, json } = readArguments('bench', usage(), parseArguments);
  const say = (line: string): void => console.error(`bench: ${line}`);
  const judged: (readonly [RowFacts, Result])[] = [];
  for (const group of all) judged.push(...(await group.run(isChosen, say)));
  const results = withReferences(judged);
  console.log(formatTable(results));
  if (json !== undefined) {
    const text = JSON.stringify({ rows: results.map(([, result]) => result) }, undefined, 2);
    await writeFile(json, `${text}\n`);
  }
}

await main();
