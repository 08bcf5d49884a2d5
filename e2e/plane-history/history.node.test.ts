/** Consistency for many concurrent clients: no update is lost, no watch has a gap or a duplicate, and every
 *  list is a true snapshot. `TEST_ROUNDS=long` or `HISTORY_SECONDS` for longer runs, `TEST_SEED` to repeat the choices of a run. */
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { API_ALONE, startTestPlane, type TestPlane } from '#plane/main.fixture.ts';
import { startEtcd } from '#plane/store/etcd.fixture.ts';
import { createRandom } from '../../testing/random.ts';
import { ofRound } from '../../testing/rounds.ts';
import { findErrors } from './check.ts';
import type { Server } from './client.ts';
import { runHistory } from './run.ts';

const CLIENTS = 32;
/** Less of anything shows nothing; a busy machine does not do much in the time. */
const FEW = 10;
const SECONDS = Number(process.env['HISTORY_SECONDS'] ?? ofRound({ short: 4, long: 30 }));

const serverOf = (plane: TestPlane): Server => ({ url: () => plane.url, agent: () => plane.agent });

interface Outcome {
  readonly seed: number;
  readonly surprises: readonly string[];
  readonly errors: readonly string[];
}

/** Expected results. */
const nothingWrong = ({ seed }: Outcome): Outcome => ({ seed, surprises: [], errors: [] });

async function judgedRun(planes: readonly TestPlane[], chaos?: () => Promise<void>): Promise<Outcome> {
  const { seed } = createRandom();
  const run = await runHistory(planes.map(serverOf), {
    clients: CLIENTS,
    forMs: SECONDS * 1000,
    atLeast: FEW,
    seed,
    ...(chaos === undefined ? {} : { chaos }),
  });
  const { writes, gets, listings, watchings, witnesses } = run.history;
  const done = writes.filter(({ result }) => result.kind === 'done' || result.kind === 'deleted');
  const events = watchings.reduce((sum, { seen }) => sum + seen.length, 0);
  console.log(
    `seed ${seed}: ${writes.length} writes (${done.length} done), ${gets.length} gets, ${listings.length} lists, ${watchings.length} watches with ${events} events, ${witnesses[0]?.length ?? 0} changes`,
  );
  const counts = [done.length, gets.length, listings.length, events];
  const idle = counts.some((count) => count < FEW) ? ['so little happened that it shows nothing'] : [];
  return {
    seed,
    surprises: run.surprises.slice(0, 10),
    errors: [...idle, ...findErrors(run.history).slice(0, 10)],
  };
}

describe(`a history of ${CLIENTS} clients`, { timeout: SECONDS * 8000 + 60_000 }, () => {
  test('holds on the embedded store', async () => {
    await using plane = await startTestPlane(API_ALONE);
    const outcome = await judgedRun([plane]);
    expect(outcome).toEqual(nothingWrong(outcome));
  });

  test('holds while the server is started again on its embedded store', async () => {
    await using plane = await startTestPlane(API_ALONE);
    const outcome = await judgedRun([plane], async () => {
      await pause(SECONDS * 300);
      await plane.restart();
    });
    expect(outcome).toEqual(nothingWrong(outcome));
  });

  test('holds on two servers that share an etcd', async () => {
    await using etcd = await startEtcd();
    const flags = [...API_ALONE, '--etcd-servers', etcd.urls.join()];
    await using first = await startTestPlane(flags);
    await using second = await startTestPlane(flags);
    const outcome = await judgedRun([first, second]);
    expect(outcome).toEqual(nothingWrong(outcome));
  });

  test('holds while a server is started again and etcd crashes', async () => {
    await using etcd = await startEtcd();
    const flags = [...API_ALONE, '--etcd-servers', etcd.urls.join()];
    await using first = await startTestPlane(flags);
    await using second = await startTestPlane(flags);
    const outcome = await judgedRun([first, second], async () => {
      await pause(SECONDS * 250);
      await second.restart();
      await pause(SECONDS * 250);
      await etcd.members[0]?.kill();
      await pause(200);
      await etcd.members[0]?.start();
    });
    expect(outcome).toEqual(nothingWrong(outcome));
  });
});
