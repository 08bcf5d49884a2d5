/** Creates a tar stream of a local file or directory. Links are archived as links. */
import { constants } from 'node:fs';
import { lstat, open, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { CommandError } from '../errors.ts';
import { BLOCK, formatHeader } from './tar-header.ts';

/** @param name first component of the paths in the archive
 *  @throws CommandError naming the file */
export async function* packTar(path: string, name: string): AsyncGenerator<Uint8Array> {
  yield* packEntry(path, name);
  yield Buffer.alloc(2 * BLOCK);
}

async function* packEntry(path: string, name: string): AsyncGenerator<Uint8Array> {
  const facts = await lstat(path).catch((cause: unknown) => {
    throw new CommandError(`cannot read ${path}`, { cause });
  });
  const common = { path: name, mode: facts.mode & 0o777, mtimeSeconds: facts.mtimeMs / 1000, sizeBytes: 0 };
  if (facts.isDirectory()) {
    yield formatHeader({ ...common, path: `${name}/`, type: '5' });
    for (const child of (await readdir(path)).sort()) yield* packEntry(join(path, child), `${name}/${child}`);
  } else if (facts.isSymbolicLink()) {
    yield formatHeader({ ...common, type: '2', target: await readlink(path) });
  } else if (facts.isFile()) {
    yield* packFile(path, common);
  }
}

type Common = Omit<Parameters<typeof formatHeader>[0], 'type'>;

/** The file may change meanwhile: exactly the announced number of bytes is sent. */
async function* packFile(path: string, common: Common): AsyncGenerator<Uint8Array> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch((cause: unknown) => {
    throw new CommandError(`cannot read ${path}`, { cause });
  });
  try {
    const { size } = await file.stat();
    yield formatHeader({ ...common, sizeBytes: size, type: '0' });
    let left = size;
    if (size > 0) {
      for await (const chunk of file.createReadStream({ end: size - 1, autoClose: false })) {
        if (!(chunk instanceof Uint8Array)) continue;
        left -= chunk.length;
        yield chunk;
      }
    }
    if (left > 0) throw new CommandError(`${path} became shorter while it was read`);
    yield Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
  } finally {
    await file.close();
  }
}
