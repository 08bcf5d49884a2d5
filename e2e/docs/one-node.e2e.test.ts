/** docs/one-node.md, as its reader runs it. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { commandBlocks } from '../../testing/docs/blocks.ts';
import { eventually } from '../../testing/wait.ts';
import { bootMachine, type Machine } from '../machine.ts';

const REPOSITORY = resolve(import.meta.dirname, '../..');
const PAGE = join(REPOSITORY, 'docs/one-node.md');
/** The machine reaches no registry. */
const IMAGE_OF_PAGE = 'docker.io/library/busybox:1.36';
const IMAGE = 'local/busybox:1';
const COMMAND_TIMEOUT_MS = 120_000;

const blocks = commandBlocks(await readFile(PAGE, 'utf8'));

describe('the commands of docs/one-node.md', () => {
  let machine: Machine;
  let failed: number | undefined;
  beforeAll(async () => {
    machine = await bootMachine();
    // Pressure on the host must not affect this node.
    const folder = `${machine.rootfs}/etc/systemd/system/nodeagent.service.d`;
    await mkdir(folder, { recursive: true });
    await writeFile(`${folder}/test.conf`, '[Service]\nEnvironment=NODEAGENT_FLAGS=--eviction-hard=\n');
  }, 900_000);
  afterAll(() => machine[Symbol.asyncDispose]());
  beforeEach(() => {
    if (failed !== undefined) throw new Error(`not tried: the block in line ${failed} failed`);
  });

  test('exist', () => {
    expect(blocks.length).toBeGreaterThan(5);
  });

  // A reader repeats a command whose pod is not there yet.
  test.each(blocks)('line $line: $text', async ({ text, line }) => {
    failed = line;
    const script = `set -e\ncd /src\n${text.replaceAll(IMAGE_OF_PAGE, IMAGE)}`;
    const isDone = await eventually(
      async () => {
        const { exitCode, stdout, stderr } = await machine.try(['bash', '-c', script], COMMAND_TIMEOUT_MS);
        if (exitCode !== 0) throw new Error(`ended with ${exitCode}: ${stdout}${stderr}`);
        return true;
      },
      { timeoutMs: 30_000, intervalMs: 500, what: text },
    );
    expect(isDone).toBe(true);
    failed = undefined;
  });
});
