/** Kills the store's process repeatedly; every acknowledged write must survive. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createRandom } from '../../../testing/random.ts';
import { ofRound } from '../../../testing/rounds.ts';
import { createTempDir } from '../../../testing/temp.ts';
import type { StoredItem } from '../contract.ts';
import { unsealValue } from '../sealed-value.fixture.ts';
import { createEmbeddedStore } from './store.ts';

const RUNS = ofRound({ short: 30, long: 300 });
const PROGRAM = join(import.meta.dirname, '..', 'crash-writer.fixture.ts');

interface Reported {
  readonly key: string;
  /** Name of the value; `-` for a deletion. */
  readonly name: string;
  readonly revision: number;
}

/** Starts the program; it waits for a line before it opens the store. */
function startWriter(dir: string, run: number, answersFd: number): ChildProcess {
  return spawn(process.execPath, [PROGRAM, dir, String(run)], {
    stdio: ['pipe', 'pipe', 'inherit', answersFd],
  });
}

/** Runs the program for some time after its first acknowledgement, or, if negative, after its start, and
 *  kills it. */
async function runAndKill(child: ChildProcess, lifeMs: number): Promise<void> {
  const closed = once(child, 'close');
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error('the program has no pipes');
  stdin.write('go\n');
  if (lifeMs >= 0) await Promise.race([once(stdout, 'data'), closed]);
  await new Promise((resolve) => setTimeout(resolve, Math.abs(lifeMs)));
  expect(child.exitCode).toBeNull();
  child.kill('SIGKILL');
  await closed;
}

function parseReports(text: string): readonly Reported[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const [key = '', name = '', revision] = line.split(' ');
      return { key, name, revision: Number(revision) };
    });
}

test(`every acknowledged write survives ${RUNS} kills, and none is torn`, {
  timeout: 60_000 + RUNS * 1500,
}, async () => {
  const random = createRandom();
  await using temp = await createTempDir('na-crash-');
  const dir = join(temp.path, 'store');
  await using reports = await open(join(temp.path, 'reports'), 'a+');
  let child = startWriter(dir, 0, reports.fd);
  for (let run = 1; run <= RUNS; run += 1) {
    const next = startWriter(dir, run, reports.fd);
    const lifeMs = random.below(10) === 0 ? -random.below(40) : random.below(60);
    await runAndKill(child, lifeMs);
    child = next;
  }
  child.kill('SIGKILL');
  await once(child, 'close');

  const reported = parseReports(await readFile(join(temp.path, 'reports'), 'utf8'));
  const store = await createEmbeddedStore({ dir });
  try {
    const { items, revision } = await store.range('/');
    const errors = findErrors(reported, items, revision);
    expect({ seed: random.seed, errors }).toEqual({ seed: random.seed, errors: [] });
    expect(reported.length).toBeGreaterThan(RUNS * 10);
  } finally {
    await store.close();
  }
});

function findErrors(
  reported: readonly Reported[],
  items: readonly StoredItem[],
  newest: number,
): readonly string[] {
  const errors: string[] = [];
  const found = new Map(items.map((item) => [item.key, item]));
  const lastOf = new Map<string, Reported>();
  const revisions = new Set<number>();
  for (const write of reported) {
    if (revisions.has(write.revision)) errors.push(`revision ${write.revision} was given twice`);
    revisions.add(write.revision);
    if (write.revision > newest) errors.push(`revision ${write.revision} is lost`);
    const last = lastOf.get(write.key);
    if (last === undefined || last.revision < write.revision) lastOf.set(write.key, write);
  }
  for (const { key, value } of items) {
    try {
      unsealValue(value);
    } catch (thrown) {
      errors.push(`${key}: ${String(thrown)}`);
    }
  }
  for (const { key, name, revision } of lastOf.values()) {
    const item = found.get(key);
    // A later write may have been done without an acknowledgement.
    if (item !== undefined && item.revision > revision && key.startsWith('/shared/')) continue;
    if (name === '-' ? item !== undefined : item?.revision !== revision || unsealValue(item.value) !== name) {
      // The acknowledged put may have been followed by an unacknowledged deletion.
      if (key.startsWith('/shared/') && item === undefined) continue;
      errors.push(`${key}: reported ${name} at ${revision}, found revision ${item?.revision ?? 'none'}`);
    }
  }
  return errors;
}
