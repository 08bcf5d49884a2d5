/** Small state file that is rewritten with each change. Writes are serialized; changes during a write are
 *  coalesced into one more. A crash leaves either the old or the new file complete. */

import { open, readFile, rename } from 'node:fs/promises';
import { hasCode } from '#api/kit/errno.ts';

export interface StateFile {
  readonly path: string;
  /** Undefined when the file does not exist. @throws Error for an unreadable file */
  read(): Promise<string | undefined>;
  /** Schedules a write of the new text. */
  save(text: string): void;
  /** Resolves once all changes so far survive a crash. @throws Error; a later call retries */
  saved(): Promise<void>;
}

export function createStateFile(path: string): StateFile {
  const texts: { newest?: string; written?: string } = {};
  let writing: Promise<void> | undefined;

  async function write(text: string): Promise<void> {
    const temporary = `${path}.tmp`;
    const file = await open(temporary, 'w', 0o600);
    try {
      await file.writeFile(text);
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
    texts.written = text;
  }

  async function writeAll(): Promise<void> {
    while (texts.newest !== undefined && texts.newest !== texts.written) await write(texts.newest);
  }

  function flush(): Promise<void> {
    writing ??= writeAll().finally(() => {
      writing = undefined;
    });
    return writing;
  }

  return {
    path,
    async read() {
      try {
        texts.written = await readFile(path, 'utf8');
        return texts.written;
      } catch (thrown) {
        if (hasCode(thrown, 'ENOENT')) return undefined;
        throw thrown;
      }
    },
    save(text) {
      texts.newest = text;
      // Callers that need the outcome await `saved`, which reports the failure.
      flush().catch(() => undefined);
    },
    saved: flush,
  };
}
