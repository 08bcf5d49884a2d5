/** Requests of every kind that no honest client would send: none of them breaks the server or what it keeps.
 *  `FUZZ_SECONDS` for longer runs, `FUZZ_SEED` to have the same requests again, `FUZZ_VOCABULARY` for other words. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApiProtobuf } from '#api/codec/api-protobuf.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createRandom } from '../../testing/random.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { longAsks } from './fuzz/long.ts';
import { type PlaneChild, startPlaneChild } from './fuzz/plane-child.ts';
import { createWorld, NAMESPACE, nextAsk } from './fuzz/requests.ts';
import { fuzz } from './fuzz/run.ts';
import { isStream } from './fuzz/send.ts';
import { measureStalls } from './fuzz/stall.ts';
import { type Canaries, expectReadable, plantCanaries, readCanaries } from './fuzz/state.ts';

const SECONDS = Number(process.env['FUZZ_SECONDS'] ?? 12);
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
    const asks = new Map(longAsks(words, NAMESPACE));
    for (let index = 0; index < 60; index += 1) {
      const ask = nextAsk(world, random);
      if (!isStream(ask)) asks.set(`${index}: ${ask.method} ${ask.target}`.slice(0, 200), ask);
    }
    const { longest, tooLong } = await measureStalls(plane, asks, random);
    console.log(
      `seed ${random.seed}: the longest stall of ${asks.size} requests is ${Math.round(longest.ms)} ms of processor time: ${longest.what}`,
    );
    expect({ seed: random.seed, tooLong }).toEqual({ seed: random.seed, tooLong: [] });
  });

  test('answers everything, keeps what it has, and goes on', async () => {
    // What is loaded and compiled first does not count.
    const warm = await fuzz(plane, world, random, SECONDS * 250);
    const before = await plane.vitals();
    const report = await fuzz(plane, world, random, SECONDS * 750);
    const after = await plane.vitals();
    console.log(
      `seed ${random.seed}: ${warm.sent + report.sent} requests ${JSON.stringify(report.statuses)}; longest turn ${Math.round(after.longestTurnMs)} ms, slowest answer ${Math.round(report.slowest.ms)} ms (${report.slowest.ask.slice(0, 150)}); RSS ${Math.round(before.rssBytes / MIB)} → ${Math.round(after.rssBytes / MIB)} MiB, heap ${Math.round(before.heapBytes / MIB)} → ${Math.round(after.heapBytes / MIB)} MiB, outside ${Math.round(before.externalBytes / MIB)} → ${Math.round(after.externalBytes / MIB)} MiB`,
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
    // What the process keeps for itself varies, but not without end.
    expect(after.rssBytes).toBeLessThan(1024 * MIB);
  });
});
