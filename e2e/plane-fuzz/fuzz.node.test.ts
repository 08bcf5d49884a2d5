/** Fuzz test of the API: malicious and malformed requests of every kind break neither the server nor its
 *  objects. `TEST_ROUNDS=long` or `FUZZ_SECONDS` for longer runs, `FUZZ_SEED` to repeat requests, `FUZZ_VOCABULARY` for the other
 *  vocabulary. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApiProtobuf } from '#api/protobuf/api-protobuf.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createRandom } from '../../testing/random.ts';
import { ofRound, sample } from '../../testing/rounds.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { longAsks } from './long.ts';
import { type PlaneChild, startPlaneChild } from './plane-child.ts';
import { createWorld, NAMESPACE, nextAsk } from './requests.ts';
import { fuzz } from './run.ts';
import { isStream } from './send.ts';
import { measureStalls } from './stall.ts';
import { type Canaries, expectReadable, plantCanaries, readCanaries } from './state.ts';
import { wideAsks, wideUndoes } from './wide.ts';

const SECONDS = Number(process.env['FUZZ_SECONDS'] ?? ofRound({ short: 6, long: 60 }));
const LONG_ASKS = ofRound({ short: 12, long: 1000 });
/** Of about 85, besides those that create and delete what the others are about. */
const WIDE_ASKS = ofRound({ short: 6, long: 1000 });
const RANDOM_ASKS = ofRound({ short: 20, long: 200 });
const seed = process.env['FUZZ_SEED'];
const vocabulary = process.env['FUZZ_VOCABULARY'] === 'kubernetes' ? 'kubernetes' : 'plat';
const MIB = 1024 * 1024;

describe('a fuzzed server', { timeout: (SECONDS + 150) * 1000 }, () => {
  const random = createRandom(...(seed === undefined ? [] : [Number(seed)]));
  const words = VOCABULARIES[vocabulary];
  const world = createWorld(words, createApiProtobuf(words));
  let dir: TempDir;
  let plane: PlaneChild;
  let canaries: Canaries;
  beforeAll(async () => {
    dir = await createTempDir('na-fuzz-');
    plane = await startPlaneChild(dir.path, ['--vocabulary', vocabulary]);
    canaries = await plantCanaries(plane, world, NAMESPACE);
  });
  afterAll(async () => {
    await plane[Symbol.asyncDispose]();
    await dir[Symbol.asyncDispose]();
  });

  test('is not held up by a single request', async () => {
    const asks = new Map(sample(longAsks(words, NAMESPACE), LONG_ASKS, random));
    for (let index = 0; index < RANDOM_ASKS; index += 1) {
      const ask = nextAsk(world, random);
      if (!isStream(ask)) asks.set(`${index}: ${ask.method} ${ask.target}`.slice(0, 200), ask);
    }
    const { longest, tooLong } = await measureStalls(plane, asks, random);
    console.log(
      `seed ${random.seed}: the longest stall of ${asks.size} requests is ${Math.round(longest.ms)} ms of processor time: ${longest.what}`,
    );
    expect({ seed: random.seed, tooLong }).toEqual({ seed: random.seed, tooLong: [] });
  });

  test('is not held up by a request with as many members as fit', { timeout: 900_000 }, async () => {
    const asks = wideAsks(words, NAMESPACE, WIDE_ASKS, random);
    const undoes = wideUndoes(words, NAMESPACE);
    const { longest, tooLong } = await measureStalls(plane, asks, random, undoes);
    console.log(`of ${asks.size}, ${longest.what} has the longest stall: ${Math.round(longest.ms)} ms`);
    expect({ seed: random.seed, tooLong }).toEqual({ seed: random.seed, tooLong: [] });
  });

  test('responds to everything, preserves its objects, and keeps serving', async () => {
    // The first run loads and compiles code and does not count.
    const warm = await fuzz(plane, world, random, SECONDS * 250);
    const before = await plane.vitals();
    const report = await fuzz(plane, world, random, SECONDS * 750);
    const after = await plane.vitals();
    console.log(
      `seed ${random.seed}: ${warm.sent + report.sent} requests ${JSON.stringify(report.statuses)}; longest turn ${Math.round(after.longestTurnMs)} ms, slowest response ${Math.round(report.slowest.ms)} ms (${report.slowest.ask.slice(0, 150)}); RSS ${Math.round(before.rssBytes / MIB)} → ${Math.round(after.rssBytes / MIB)} MiB, heap ${Math.round(before.heapBytes / MIB)} → ${Math.round(after.heapBytes / MIB)} MiB, outside ${Math.round(before.externalBytes / MIB)} → ${Math.round(after.externalBytes / MIB)} MiB`,
    );
    const result = {
      seed: random.seed,
      findings: [...warm.findings, ...report.findings],
      complaints: plane.complaints.slice(0, 10),
      alive: plane.alive,
    };
    expect(result).toEqual({ seed: random.seed, findings: [], complaints: [], alive: true });
    expect(await readCanaries(plane, canaries)).toEqual(canaries);
    await expectReadable(plane, world);
    expect(after.heapBytes).toBeLessThan(before.heapBytes + 150 * MIB);
    expect(after.externalBytes).toBeLessThan(before.externalBytes + 150 * MIB);
    // Memory retained by the process varies, but is bounded.
    expect(after.rssBytes).toBeLessThan(1024 * MIB);
  });
});
