/** The checkpoint on disk: read once, written whole whenever something changed, one write at a time. */
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { asError } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { type Checkpoint, formatCheckpoint, parseCheckpoint } from './checkpoint.ts';

const NOTHING: Checkpoint = { entries: [], registered: new Map() };

/** What an earlier agent left; nothing when it left nothing that can be believed. */
export async function readCheckpoint(
  log: Logger,
  path: string,
): Promise<Checkpoint & { readonly isMissing?: true }> {
  try {
    return parseCheckpoint(await readFile(path, 'utf8'));
  } catch (thrown) {
    const err = asError(thrown);
    if ('code' in err && err.code === 'ENOENT') return { ...NOTHING, isMissing: true };
    log.warn({ err, path }, 'Checkpoint of devices can not be used; who has which is not known');
    return NOTHING;
  }
}

export interface CheckpointFile {
  /** Something changed; it is written soon. */
  touch(): void;
  /** Resolves when everything up to now is on disk. @throws what kept it from being written */
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
      // Changes of the same turn go together.
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
      saved().catch((err: unknown) => deps.log.warn({ err, path }, 'Checkpoint of devices was not written'));
    },
    saved,
  };
}
