/** Device checkpoint on disk: read once, rewritten completely after each change, one write at a time. */

import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { asError, hasCode } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { type Checkpoint, formatCheckpoint, parseCheckpoint } from './checkpoint.ts';

const NOTHING: Checkpoint = { entries: [], registered: new Map() };

/** Reads the checkpoint of an earlier run; empty when it is missing or invalid. */
export async function readCheckpoint(
  log: Logger,
  path: string,
): Promise<Checkpoint & { readonly isMissing?: true }> {
  try {
    return parseCheckpoint(await readFile(path, 'utf8'));
  } catch (thrown) {
    if (hasCode(thrown, 'ENOENT')) return { ...NOTHING, isMissing: true };
    log.warn({ err: asError(thrown), path }, 'Failed to read device checkpoint; device allocations unknown');
    return NOTHING;
  }
}

export interface CheckpointFile {
  /** Schedules a write. */
  touch(): void;
  /** Resolves when all changes so far are on disk. @throws the error of the failed write */
  saved(): Promise<void>;
}

async function write(path: string, content: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o750 });
  const temporary = `${dirname(path)}/.checkpoint.tmp`;
  const file = await open(temporary, 'w', 0o600);
  try {
    await file.writeFile(content);
    await file.datasync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}

export function createCheckpointFile(
  deps: { readonly log: Logger; readonly current: () => Checkpoint },
  path: string,
): CheckpointFile {
  let dirty = false;
  let writing: Promise<void> | undefined;

  async function writeAll(): Promise<void> {
    while (dirty) {
      // Coalesces the changes of one turn.
      await Promise.resolve();
      dirty = false;
      try {
        await write(path, formatCheckpoint(deps.current()));
      } catch (thrown) {
        dirty = true;
        throw thrown;
      }
    }
  }

  const saved = (): Promise<void> => {
    writing ??= writeAll().finally(() => {
      writing = undefined;
    });
    return writing;
  };

  return {
    touch() {
      dirty = true;
      saved().catch((err: unknown) => deps.log.warn({ err, path }, 'Failed to write device checkpoint'));
    },
    saved,
  };
}
