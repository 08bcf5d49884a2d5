/** The shipped bundle of the server: ready quickly with an empty data directory. */
import { join } from 'node:path';
import { request } from 'undici';
import { beforeAll, describe, expect, test } from 'vitest';
import { bundle, PLANE_ENTRIES } from '../../scripts/bundle.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { runProgram, startProgram } from './program/program.ts';
import { COLLECTION } from './program/writers.ts';

/** The goal is a second on a quiet machine; a busy one may take this many times as long. */
const BUSY = 10;

describe('the bundle', { timeout: 60_000 }, () => {
  let folder: TempDir;
  let program = '';
  beforeAll(async () => {
    folder = await createTempDir('na-bundle-');
    await bundle(join(folder.path, 'b'), PLANE_ENTRIES);
    program = join(folder.path, 'b', 'control-plane-lite.js');
    return () => folder[Symbol.asyncDispose]();
  }, 60_000);

  test('serves from an empty folder within about a second', async () => {
    await using dir = await createTempDir('na-start-');
    const beganMs = performance.now();
    await using server = await startProgram(join(dir.path, 'd'), [], program);
    const tookMs = performance.now() - beganMs;
    console.log(`ready after ${Math.round(tookMs)} ms`);
    expect(tookMs).toBeLessThan(1000 * BUSY);
    expect((await server.call('POST', COLLECTION, { metadata: { name: 'first' } })).status).toBe(201);
  });

  test('finds its threads: a store, a copy of it, and large YAML', async () => {
    await using dir = await createTempDir('na-start-');
    await using server = await startProgram(dir.path, [], program);
    const lines = Array.from({ length: 2000 }, (_, index) => `  key-${index}: value\n`);
    const { statusCode, body } = await request(server.url + COLLECTION, {
      method: 'POST',
      dispatcher: server.agent,
      headers: { 'content-type': 'application/yaml' },
      body: `metadata:\n  name: large\ndata:\n${lines.join('')}`,
    });
    expect([statusCode, Object.keys(((await body.json()) as { data: object }).data)]).toEqual([
      201,
      expect.toSatisfy((keys: readonly string[]) => keys.length === lines.length),
    ]);
    const file = join(dir.path, 'copy.db');
    expect(await runProgram(['backup', file, '--data-dir', dir.path], program)).toMatchObject({ code: 0 });
    expect(await runProgram(['--help'], program)).toMatchObject({ code: 0, stderr: '' });
  });
});
