/** Writer of ustar archives in memory. Deterministic: one time for all entries, no owners but root. */

export type TarEntry =
  | { readonly kind: 'file'; readonly path: string; readonly mode: number; readonly content: Uint8Array }
  | { readonly kind: 'directory'; readonly path: string; readonly mode: number; readonly uid?: number }
  | { readonly kind: 'symlink'; readonly path: string; readonly target: string };

/** A path or link target that exceeds the format. */
export class TarFieldError extends Error {
  constructor(field: string, value: string, limit: number) {
    super(`tar entry: ${field} ${JSON.stringify(value)} is longer than ${limit} bytes`);
    this.name = 'TarFieldError';
  }
}

const BLOCK = 512;
const PATH_BYTES = 100;
const PREFIX_BYTES = 155;
const TYPE_FLAGS: Readonly<Record<TarEntry['kind'], string>> = { file: '0', symlink: '2', directory: '5' };

/** Returns the whole archive, in the order of the entries. Paths are relative, directories precede their
 *  content.
 *  @param options mtimeSeconds: the time of all entries, since the epoch
 *  @throws TarFieldError for a path or target that does not fit
 *  @see https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html ustar interchange format */
export function createTar(
  entries: readonly TarEntry[],
  { mtimeSeconds = 0 }: { readonly mtimeSeconds?: number } = {},
): Buffer {
  const parts: Uint8Array[] = [];
  for (const entry of entries) {
    parts.push(header(entry, mtimeSeconds));
    if (entry.kind !== 'file') continue;
    parts.push(entry.content, Buffer.alloc((BLOCK - (entry.content.length % BLOCK)) % BLOCK));
  }
  parts.push(Buffer.alloc(2 * BLOCK));
  return Buffer.concat(parts);
}

function header(entry: TarEntry, mtimeSeconds: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  const path = entry.kind === 'directory' ? `${entry.path.replace(/\/$/, '')}/` : entry.path;
  const uid = entry.kind === 'directory' ? (entry.uid ?? 0) : 0;
  const { prefix, name } = splitPath(path);
  writeText(block, 0, 'path', name);
  block.write(prefix, 345, 'utf8');
  writeOctal(block, 100, 8, entry.kind === 'symlink' ? 0o777 : entry.mode);
  writeOctal(block, 108, 8, uid);
  writeOctal(block, 116, 8, uid);
  writeOctal(block, 124, 12, entry.kind === 'file' ? entry.content.length : 0);
  writeOctal(block, 136, 12, mtimeSeconds);
  block.write('        ', 148, 'latin1');
  block.write(TYPE_FLAGS[entry.kind], 156, 'latin1');
  if (entry.kind === 'symlink') writeText(block, 157, 'target', entry.target);
  block.write('ustar\u000000', 257, 'latin1');
  writeOctal(block, 148, 7, checksum(block));
  return block;
}

/** Splits a long path at a slash into the two fields that the format has for it. Pure. */
function splitPath(path: string): { readonly prefix: string; readonly name: string } {
  if (Buffer.byteLength(path) <= PATH_BYTES) return { prefix: '', name: path };
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    const fits = Buffer.byteLength(prefix) <= PREFIX_BYTES && Buffer.byteLength(name) <= PATH_BYTES;
    if (fits && prefix !== '' && name !== '') return { prefix, name };
  }
  throw new TarFieldError('path', path, PATH_BYTES);
}

function writeText(block: Buffer, offset: number, field: string, text: string): void {
  if (Buffer.byteLength(text) > PATH_BYTES) throw new TarFieldError(field, text, PATH_BYTES);
  block.write(text, offset, 'utf8');
}

/** Formats an octal number with a terminating zero byte, filling `width` bytes. */
function writeOctal(block: Buffer, offset: number, width: number, value: number): void {
  block.write(`${value.toString(8).padStart(width - 1, '0')}\0`, offset, 'latin1');
}

/** Sums the bytes of the header, with the checksum field itself read as spaces. */
function checksum(block: Buffer): number {
  return block.reduce((sum, byte) => sum + byte, 0);
}
