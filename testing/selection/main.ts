/** Prints test files, one per line, for `scripts/run.sh`; remarks go to the standard error. */
import { parseArgs } from 'node:util';
import { readArguments } from '../../scripts/arguments.ts';
import { failedSince, readDurations, slowestSince } from '../durations.ts';
import { dependentsOf, type Selection, selectWithin } from './affected.ts';
import { readDependencies } from './dependencies.ts';

const SLOWEST = 20;
/** Of all workers together: the rest of the minute is for the checks and for starting. */
const BUDGET_MS = 40_000;
/** Of a file that has never run here. */
const UNKNOWN_MS = { unit: 200, node: 5000 };
const ROUNDS = 'testing/rounds.ts';

const isNodeTest = (file: string): boolean => file.endsWith('.node.test.ts');
/** Those of emulated machines, upstream's programs and systemd take minutes to begin. */
const isFast = (file: string): boolean =>
  file.endsWith('.test.ts') && !/\.(?:e2e|stock|ceph)\.test\.ts$/.test(file);
/** They look at all sources. */
const isAboutSources = (file: string): boolean => /^(?:testing|scripts)\/[\w-]+\.test\.ts$/.test(file);

function affectedBy(changed: readonly string[]): Selection {
  const dependencies = readDependencies(changed);
  const dependents = new Map(dependentsOf(dependencies, changed));
  for (const file of new Set(dependencies.map(({ from }) => from))) {
    if (isAboutSources(file)) dependents.set(file, 0);
  }
  const known = new Map(readDurations().map(({ file, ms }) => [file, ms]));
  const candidates = [...dependents]
    .filter(([file]) => isFast(file))
    .map(([file, distance]) => ({
      file,
      distance,
      ms: known.get(file) ?? (isNodeTest(file) ? UNKNOWN_MS.node : UNKNOWN_MS.unit),
    }));
  return selectWithin(candidates, BUDGET_MS);
}

function printChanged(changed: readonly string[]): void {
  const { run, left } = affectedBy(changed);
  console.error(
    `changed files: ${changed.length}; affected test files: ${run.length + left.length}, running ${run.length}`,
  );
  if (left.length > 0) {
    console.error(
      `not run, because they would take longer than a minute: ${left.length}, such as ${left.slice(0, 5).join(', ')}`,
    );
    console.error('npm test runs them');
  }
  for (const file of run) console.log(file);
}

function printLong(): void {
  const dependents = dependentsOf(
    readDependencies([]).filter(({ isMention }) => !isMention),
    [ROUNDS],
  );
  const files = [...dependents.keys()].filter((file) => isFast(file) && !isAboutSources(file));
  for (const file of files.toSorted()) console.log(file);
}

function printSlowest(sinceSeconds: number): void {
  const slowest = slowestSince(readDurations(), sinceSeconds * 1000, SLOWEST);
  if (slowest.length > 0) console.log(`\nthe ${slowest.length} slowest test files, in seconds:`);
  for (const { project, file, ms } of slowest)
    console.log(`${(ms / 1000).toFixed(1).padStart(7)}  ${project}  ${file}`);
}

function printFailed(project: string, sinceSeconds: number): void {
  for (const file of failedSince(readDurations(), project, sinceSeconds * 1000)) console.log(file);
}

const USAGE = `node testing/selection/main.ts COMMAND

Prints test files, one per line.
  changed FILES…    those that the changed files can affect and that fit into a minute
  long              those that have a long round
  failed PROJECT SECONDS
                    those of the project that failed since that time in seconds since 1970
  slowest SECONDS   the 20 slowest since that time in seconds since 1970, as a table
`;

/** @throws RangeError for an unknown command */
function commandOf([command = '', ...rest]: readonly string[]): () => void {
  switch (command) {
    case 'changed':
      return () => printChanged(rest);
    case 'long':
      return printLong;
    case 'failed':
      return () => printFailed(rest[0] ?? '', Number(rest[1]));
    case 'slowest':
      return () => printSlowest(Number(rest[0]));
    default:
      throw new RangeError(`Unknown command '${command}'`);
  }
}

readArguments('selection', USAGE, () => commandOf(parseArgs({ allowPositionals: true }).positionals))();
