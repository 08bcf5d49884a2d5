/** A small file that is written anew with each change. Changes are taken at once and written one after the other;
 *  those that come during a write cause one more. A crash leaves the whole old or the whole new file. */
import { open, readFile, rename } from 'node:fs/promises';

export interface StateFile {
  readonly path: string;
  /** Undefined where there is none. @throws Error for one that can't be read */
  read(): Promise<string | undefined>;
  /** Takes the new text. */
  save(text: string): void;
  /** Resolves when what was taken so far will be there after a crash. @throws Error; a later call tries again */
  saved(): Promise<void>;
}

const isMissing = (thrown: unknown): boolean =>
  thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT';

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
        if (isMissing(thrown)) return undefined;
        throw thrown;
      }
    },
    save(text) {
      texts.newest = text;
      // Whoever relies on it asks `saved`, and is told of the failure.
      flush().catch(() => undefined);
    },
    saved: flush,
  };
}
