/** Reads a tar archive from a stream, entry by entry. Memory is bounded by one chunk. */
import { BLOCK, parseHeader, parsePax, TarError, type TarHeader } from './tar-header.ts';

export interface TarEntryStream extends TarHeader {
  /** The content; unread parts are skipped. */
  readonly content: AsyncIterable<Uint8Array>;
}

/** Maximum size of an extended header. */
const LARGEST_EXTENSION = 1024 * 1024;

/** @throws TarError when the stream is damaged or ends early */
export async function* readTar(stream: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntryStream> {
  const source = createSource(stream);
  let extension: { readonly path?: string; readonly sizeBytes?: number } = {};
  for (;;) {
    const header = parseHeader((await source.exactly(BLOCK)) ?? new Uint8Array(BLOCK));
    if (header === undefined) return;
    if (header.type === 'x' || header.type === 'g' || header.type === 'L' || header.type === 'K') {
      const data = await readExtension(source, header);
      if (header.type === 'x') extension = { ...extension, ...parsePax(data) };
      if (header.type === 'L')
        extension = { ...extension, path: data.toString('utf8').split('\0', 1)[0] ?? '' };
      continue;
    }
    const entry = { ...header, ...extension };
    extension = {};
    const content = source.part(entry.sizeBytes);
    yield { ...entry, content };
    for await (const skipped of content) void skipped;
    await source.skip((BLOCK - (entry.sizeBytes % BLOCK)) % BLOCK);
  }
}

type Source = ReturnType<typeof createSource>;

async function readExtension(source: Source, { sizeBytes }: TarHeader): Promise<Buffer> {
  if (sizeBytes > LARGEST_EXTENSION) throw new TarError('too long extended header in the tar archive');
  const data = await source.exactly(sizeBytes);
  await source.skip((BLOCK - (sizeBytes % BLOCK)) % BLOCK);
  return data ?? Buffer.alloc(0);
}

/** Reads bytes of a stream in pieces of given sizes. */
function createSource(stream: AsyncIterable<Uint8Array>) {
  const chunks = stream[Symbol.asyncIterator]();
  let rest: Uint8Array = new Uint8Array();

  /** Returns the next bytes, at most `most`; undefined at the end of the stream. */
  async function next(most: number): Promise<Uint8Array | undefined> {
    while (rest.length === 0) {
      const step = await chunks.next();
      if (step.done === true) return undefined;
      rest = step.value;
    }
    const bytes = rest.subarray(0, most);
    rest = rest.subarray(bytes.length);
    return bytes;
  }

  async function* part(sizeBytes: number, state = { left: sizeBytes }): AsyncGenerator<Uint8Array> {
    while (state.left > 0) {
      const bytes = await next(state.left);
      if (bytes === undefined) throw new TarError('the tar archive ends early');
      state.left -= bytes.length;
      yield bytes;
    }
  }

  /** Returns undefined at the end of the stream. */
  async function exactly(sizeBytes: number): Promise<Buffer | undefined> {
    const parts: Uint8Array[] = [];
    let left = sizeBytes;
    while (left > 0) {
      const bytes = await next(left);
      if (bytes === undefined) {
        if (parts.length === 0) return undefined;
        throw new TarError('the tar archive ends early');
      }
      parts.push(bytes);
      left -= bytes.length;
    }
    return Buffer.concat(parts);
  }

  return {
    exactly,
    /** A second iteration continues where the first one stopped. */
    part(sizeBytes: number): AsyncIterable<Uint8Array> {
      const state = { left: sizeBytes };
      return { [Symbol.asyncIterator]: () => part(sizeBytes, state) };
    },
    async skip(sizeBytes: number): Promise<void> {
      for await (const skipped of part(sizeBytes)) void skipped;
    },
  };
}
