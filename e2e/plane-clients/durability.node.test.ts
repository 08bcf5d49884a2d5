/** Durability of the server when it is killed during writes: exactly the acknowledged writes are stored. */
import { once } from 'node:events';
import { request } from 'undici';
import { describe, expect, test } from 'vitest';
import { createRandom } from '../../testing/random.ts';
import { ofRound } from '../../testing/rounds.ts';
import { createTempDir } from '../../testing/temp.ts';
import { type Program, runProgram, startProgram } from './program/program.ts';
import { COLLECTION, createLedger, findLosses, type Ledger, writeUntilGone } from './program/writers.ts';

const KILLS = Number(process.env['KILLS'] ?? ofRound({ short: 3, long: 40 }));
const WRITERS = 32;
/** After a restart, the server can replay a thousand earlier changes; a few are its own. */
const REPLAYED = 900;

async function lossesOf(program: Program, ledger: Ledger): Promise<readonly string[]> {
  const { body } = await program.call('GET', COLLECTION);
  return findLosses(ledger, body.items, Number(body.metadata.resourceVersion));
}

/** Writes with all writers for some time after the first response, then kills the server. */
async function killUnderWriters(
  program: Program,
  ledger: Ledger,
  lifeMs: number,
  run: number,
): Promise<void> {
  const random = createRandom(run);
  const first = Promise.withResolvers<void>();
  const gone = writeUntilGone(program, ledger, random, { writers: WRITERS, run, onFirst: first.resolve });
  await first.promise;
  await new Promise((resolve) => setTimeout(resolve, lifeMs));
  program.signal('SIGKILL');
  await Promise.all([gone, program.ended]);
}

/** Events of a watch from the revision, up to an event of another. */
async function eventsBetween(program: Program, from: number, to: number): Promise<readonly number[]> {
  const leave = new AbortController();
  const { body } = await request(`${program.url}${COLLECTION}?watch=1&resourceVersion=${from}`, {
    dispatcher: program.agent,
    signal: leave.signal,
  });
  const seen: number[] = [];
  let rest = '';
  for await (const chunk of body.setEncoding('utf8')) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const { object } = JSON.parse(line) as { object: { metadata: { resourceVersion: string } } };
      seen.push(Number(object.metadata.resourceVersion));
    }
    if ((seen.at(-1) ?? 0) >= to) break;
  }
  return seen;
}

describe('a server that is killed', { timeout: 60_000 + KILLS * 15_000 }, () => {
  test(`has everything that it acknowledged to ${WRITERS} writers, ${KILLS} times`, async () => {
    const random = createRandom();
    await using dir = await createTempDir('na-kill-');
    const ledger = createLedger();
    for (let run = 0; run < KILLS; run += 1) {
      await using program = await startProgram(dir.path);
      expect(await lossesOf(program, ledger)).toEqual([]);
      const { count, newest } = ledger;
      await killUnderWriters(program, ledger, random.below(400), run);
      expect(ledger.count).toBeGreaterThan(count);
      expect(ledger.newest).toBeGreaterThan(newest);
    }
    await using program = await startProgram(dir.path);
    expect(await lossesOf(program, ledger)).toEqual([]);
    const { body } = await program.call('POST', COLLECTION, { metadata: { name: 'after' } });
    const after = Number(body.metadata.resourceVersion);
    expect(after).toBeGreaterThan(ledger.newest);
    // A watch from before the kill resumes.
    const revisions = [...ledger.objects.values()].map(({ revision }) => revision).filter((each) => each > 0);
    const from = Math.max(Math.min(...revisions), after - REPLAYED);
    const seen = await eventsBetween(program, from, after);
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
    expect(seen).toEqual(expect.arrayContaining(revisions.filter((each) => each > from)));
  });

  test('can be copied under its writers, and the copy shows one of its states', async () => {
    await using dir = await createTempDir('na-copy-');
    await using other = await createTempDir('na-copy-');
    const ledger = createLedger();
    await using program = await startProgram(dir.path);
    const first = Promise.withResolvers<void>();
    const gone = writeUntilGone(program, ledger, createRandom(), {
      writers: 8,
      run: 0,
      onFirst: first.resolve,
    });
    await first.promise;
    const before = new Map(ledger.objects);
    const file = `${other.path}/backup.db`;
    const copied = await runProgram(['backup', file, '--data-dir', dir.path]);
    expect(copied).toMatchObject({ code: 0, stderr: '' });
    const shown = Number(/contains revision (\d+)/.exec(copied.stdout)?.[1]);
    expect((await runProgram(['backup', file, '--data-dir', dir.path])).code).toBe(1);
    program.signal('SIGKILL');
    await gone;

    const target = `${other.path}/d`;
    expect(await runProgram(['restore', file, '--data-dir', target])).toMatchObject({ code: 0, stderr: '' });
    await using copy = await startProgram(target);
    const list = await copy.call('GET', COLLECTION);
    expect(Number(list.body.metadata.resourceVersion)).toBeGreaterThan(ledger.newest);
    const found = new Map(
      list.body.items.map(({ metadata }) => [metadata.name, Number(metadata.resourceVersion)]),
    );
    for (const revision of found.values()) expect(revision).toBeLessThanOrEqual(shown);
    // Everything up to the revision that it says; what was deleted may have been so before the copy.
    const lost = [...ledger.objects]
      .filter(([name, { revision }]) => revision <= shown && ledger.sent.get(name) !== undefined)
      .filter(([name, { revision }]) => (found.get(name) ?? 0) < revision);
    expect(lost).toEqual([]);
    expect(Math.max(...[...before.values()].map(({ revision }) => revision))).toBeLessThanOrEqual(shown);
  });
});

describe('a server on SIGTERM', { timeout: 60_000 }, () => {
  const SERVICE = '/readyz';

  test('is not ready first, serves on for a while, ends its watches in good order, and exits', async () => {
    await using dir = await createTempDir('na-stop-');
    await using program = await startProgram(dir.path, ['--shutdown-delay-duration=5s']);
    const watch = await request(`${program.url}${COLLECTION}?watch=1`, { dispatcher: program.agent });
    const events = watch.body.text();
    program.signal('SIGTERM');
    while ((await program.call('GET', SERVICE)).status === 200) await new Promise(setImmediate);
    expect((await program.call('GET', '/livez')).status).toBe(200);
    expect((await program.call('POST', COLLECTION, { metadata: { name: 'late' } })).status).toBe(201);
    // No cut: the text ends as the server means it to.
    expect((await events).trimEnd().split('\n').at(-1)).toContain('"name":"late"');
    const { code, stderr } = await program.ended;
    expect({ code, last: stderr.trimEnd().split('\n').at(-1) }).toMatchObject({
      code: 0,
      last: expect.stringContaining('Shutdown completed') as string,
    });
    await using again = await startProgram(dir.path);
    expect((await again.call('GET', `${COLLECTION}/late`)).status).toBe(200);
  });

  test('exits at once on a second signal, even with a request in flight', async () => {
    await using dir = await createTempDir('na-stop-');
    await using program = await startProgram(dir.path, ['--shutdown-delay-duration=1h']);
    const { connect } = await import('node:tls');
    const { hostname, port } = new URL(program.url);
    const socket = connect({ ...program.credentials, host: hostname, port: Number(port) });
    socket.on('error', () => undefined);
    socket.write(
      `POST ${COLLECTION} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n`,
    );
    // The server waits for the body now.
    await once(socket, 'data');
    program.signal('SIGTERM');
    while ((await program.call('GET', SERVICE)).status === 200) await new Promise(setImmediate);
    program.signal('SIGTERM');
    expect((await program.ended).code).toBe(0);
    socket.destroy();
  });
});
