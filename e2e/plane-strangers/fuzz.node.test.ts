/** Requests of every kind that no honest client would send: none of them breaks the server or what it keeps.
 *  `FUZZ_SECONDS` for longer runs, `FUZZ_SEED` to have the same requests again, `FUZZ_VOCABULARY` for other words. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApiProtobuf } from '#api/codec/api-protobuf.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createRandom } from '../../testing/random.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { type PlaneChild, startPlaneChild } from './fuzz/plane-child.ts';
import { createWorld, NAMESPACE } from './fuzz/requests.ts';
import { fuzz } from './fuzz/run.ts';
import { expectReadable, plantCanaries, readCanaries } from './fuzz/state.ts';

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
  beforeAll(async () => {
    dir = await createTempDir('na-fuzz-');
    plane = await startPlaneChild(dir.path, ['--vocabulary', vocabulary]);
  });
  afterAll(async () => {
    await plane[Symbol.asyncDispose]();
    await dir[Symbol.asyncDispose]();
  });

  test('answers everything, keeps what it has, and goes on', async () => {
    const canaries = await plantCanaries(plane, world, NAMESPACE);
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
