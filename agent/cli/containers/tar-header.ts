/** Headers of tar archives: ustar with the extensions of GNU and pax for long names and sizes. Pure.
 *  @see https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html */

export const BLOCK = 512;

export interface TarHeader {
  /** As in the archive: may be absolute or contain `..`. */
  readonly path: string;
  readonly mode: number;
  readonly sizeBytes: number;
  /** Type flag: `0` file, `5` directory, `1` and `2` links, `x` and `g` pax, `L` and `K` GNU long names. */
  readonly type: string;
}

/** The stream is not a tar archive, or is damaged. */
export class TarError extends Error {
  override readonly name = 'TarError';
}

/** Returns undefined for a block of zeros, which ends the archive. @throws TarError */
export function parseHeader(head: Uint8Array): TarHeader | undefined {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength);
  if (bytes.every((byte) => byte === 0)) return undefined;
  if (readNumber(bytes, 148, 8) !== checksum(bytes)) throw new TarError('damaged header in the tar archive');
  const name = readText(bytes, 0, 100);
  const prefix = bytes.toString('latin1', 257, 262) === 'ustar' ? readText(bytes, 345, 155) : '';
  const type = bytes.toString('latin1', 156, 157);
  return {
    // GNU tar uses the bytes of the prefix for other data.
    path: prefix === '' || bytes.toString('latin1', 257, 265) === 'ustar  \0' ? name : `${prefix}/${name}`,
    mode: readNumber(bytes, 100, 8) & 0o777,
    sizeBytes: readNumber(bytes, 124, 12),
    type: type === '\0' ? '0' : type,
  };
}

function readText(bytes: Buffer, start: number, length: number): string {
  const field = bytes.subarray(start, start + length);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end < 0 ? length : end);
}

/** Reads an octal number, or a binary one with the first bit set. @throws TarError */
function readNumber(bytes: Buffer, start: number, length: number): number {
  const field = bytes.subarray(start, start + length);
  const value = (field[0] ?? 0) >= 0x80 ? readBinary(field) : Number.parseInt(octalDigits(field) || '0', 8);
  if (!Number.isSafeInteger(value) || value < 0) throw new TarError('invalid number in the tar archive');
  return value;
}

const octalDigits = (field: Buffer): string => field.toString('latin1').replaceAll('\0', ' ').trim();

const readBinary = (field: Buffer): number =>
  field.reduce((sum, byte, index) => sum * 256 + (index === 0 ? byte & 0x7f : byte), 0);

/** Sums the bytes of the header, with the checksum field itself read as spaces. */
function checksum(bytes: Buffer): number {
  let sum = 0;
  for (const [index, byte] of bytes.entries()) sum += index >= 148 && index < 156 ? 0x20 : byte;
  return sum;
}

/** Returns path and size of pax records: `LENGTH KEY=VALUE\n`…
 *  @throws TarError */
export function parsePax(text: Buffer): { readonly path?: string; readonly sizeBytes?: number } {
  let found: { path?: string; sizeBytes?: number } = {};
  for (let at = 0; at < text.length; ) {
    const space = text.subarray(at, at + 12).indexOf(0x20);
    const length = space < 0 ? 0 : Number(text.toString('latin1', at, at + space));
    if (!Number.isSafeInteger(length) || length < space + 3 || at + length > text.length) {
      throw new TarError('invalid extended header in the tar archive');
    }
    const record = text.toString('utf8', at + space + 1, at + length - 1);
    const equals = record.indexOf('=');
    const [key, value] = [record.slice(0, equals), record.slice(equals + 1)];
    if (key === 'path') found = { ...found, path: value };
    if (key === 'size') found = { ...found, sizeBytes: Number(value) };
    at += length;
  }
  if (found.sizeBytes !== undefined && !(Number.isSafeInteger(found.sizeBytes) && found.sizeBytes >= 0)) {
    throw new TarError('invalid size in the tar archive');
  }
  return found;
}

export interface NewHeader {
  /** Relative, with slashes. */
  readonly path: string;
  readonly mode: number;
  readonly sizeBytes: number;
  readonly mtimeSeconds: number;
  readonly type: '0' | '2' | '5';
  readonly target?: string;
}

/** Returns the blocks of an entry, with a pax header for what ustar cannot express. */
export function formatHeader(header: NewHeader): Buffer {
  const { path, sizeBytes, target = '' } = header;
  const records = [
    ...(Buffer.byteLength(path) > 100 ? [paxRecord('path', path)] : []),
    ...(Buffer.byteLength(target) > 100 ? [paxRecord('linkpath', target)] : []),
    ...(sizeBytes > 0o77777777777 ? [paxRecord('size', String(sizeBytes))] : []),
  ];
  const main = block(header, header.type);
  if (records.length === 0) return main;
  const data = Buffer.from(records.join(''));
  const pax = block({ ...header, path: 'pax', sizeBytes: data.length, target: '' }, 'x');
  return Buffer.concat([pax, padded(data), main]);
}

/** The length of a record counts its own digits. */
function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const bytes = Buffer.byteLength(rest);
  let length = bytes + 1;
  while (bytes + String(length).length !== length) length = bytes + String(length).length;
  return `${length}${rest}`;
}

/** Fills the last block with zeros. */
export const padded = (data: Uint8Array): Buffer =>
  Buffer.concat([data, Buffer.alloc((BLOCK - (data.length % BLOCK)) % BLOCK)]);

function block({ path, mode, sizeBytes, mtimeSeconds, target = '' }: NewHeader, type: string): Buffer {
  const bytes = Buffer.alloc(BLOCK);
  bytes.write(path, 0, 100, 'utf8');
  writeOctal(bytes, 100, 8, mode);
  writeOctal(bytes, 108, 8, 0);
  writeOctal(bytes, 116, 8, 0);
  writeOctal(bytes, 124, 12, Math.min(sizeBytes, 0o77777777777));
  writeOctal(bytes, 136, 12, Math.max(0, Math.floor(mtimeSeconds)));
  bytes.write('        ', 148, 'latin1');
  bytes.write(type, 156, 'latin1');
  bytes.write(target, 157, 100, 'utf8');
  bytes.write('ustar\u000000', 257, 'latin1');
  writeOctal(bytes, 148, 7, checksum(bytes));
  return bytes;
}

function writeOctal(bytes: Buffer, offset: number, width: number, value: number): void {
  bytes.write(`${value.toString(8).padStart(width - 1, '0')}\0`, offset, 'latin1');
}
