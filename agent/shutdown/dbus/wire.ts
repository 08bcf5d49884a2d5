/** D-Bus messages as bytes: what little of the format is needed to call the system's services and to hear from them.
 *  Pure. @see https://dbus.freedesktop.org/doc/dbus-specification.html */

export type DBusValue = string | number | bigint | boolean;

export interface DBusCall {
  readonly destination: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  /** Of texts, numbers of 32 bits and truth values: `ssi`. */
  readonly signature?: string;
  readonly body?: readonly DBusValue[];
}

export type DBusMessageType = 'call' | 'return' | 'error' | 'signal';

export interface DBusMessage {
  readonly type: DBusMessageType;
  readonly serial: number;
  readonly replySerial: number;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly sender: string;
  readonly errorName: string;
  /** Empty where it is of a type that nobody asks for. */
  readonly body: readonly DBusValue[];
}

/** Bytes that are no message, or one that is longer than any that is expected. */
export class DBusFormatError extends Error {
  override readonly name = 'DBusFormatError';
}

const TYPES: readonly (DBusMessageType | undefined)[] = [undefined, 'call', 'return', 'error', 'signal'];
const FIXED_HEADER = 16;
/** Far more than a bus says to a client like this one. */
const LONGEST = 1024 * 1024;
const FIELD = {
  path: 1,
  interface: 2,
  member: 3,
  errorName: 4,
  replySerial: 5,
  destination: 6,
  sender: 7,
  signature: 8,
} as const;

const aligned = (offset: number, to: number): number => Math.ceil(offset / to) * to;

/** Appends values, each at a multiple of its size. */
class Writer {
  #bytes = Buffer.alloc(0);

  get bytes(): Buffer {
    return this.#bytes;
  }

  align(to: number): void {
    this.append(Buffer.alloc(aligned(this.#bytes.length, to) - this.#bytes.length));
  }

  append(more: Uint8Array): void {
    this.#bytes = Buffer.concat([this.#bytes, more]);
  }

  value(type: string, value: DBusValue): void {
    switch (type) {
      case 's':
      case 'o': {
        const text = Buffer.from(String(value));
        this.value('u', text.length);
        return this.append(Buffer.concat([text, Buffer.of(0)]));
      }
      case 'g': {
        const text = Buffer.from(String(value));
        return this.append(Buffer.concat([Buffer.of(text.length), text, Buffer.of(0)]));
      }
      case 'i':
      case 'u':
      case 'b': {
        this.align(4);
        const word = Buffer.alloc(4);
        if (type === 'i') word.writeInt32LE(Number(value));
        else word.writeUInt32LE(Number(value));
        return this.append(word);
      }
      default:
        throw new DBusFormatError(`values of type ${type} are not written`);
    }
  }
}

/** A call as the bus takes it. @param serial from 1 on, another for each call */
export function encodeCall(call: DBusCall, serial: number): Buffer {
  const { signature = '', body = [] } = call;
  const content = new Writer();
  signature.split('').forEach((type, index) => content.value(type, body[index] ?? ''));
  const fields: readonly (readonly [number, string, string])[] = [
    [FIELD.path, 'o', call.path],
    [FIELD.interface, 's', call.interface],
    [FIELD.member, 's', call.member],
    [FIELD.destination, 's', call.destination],
    ...(signature === '' ? [] : [[FIELD.signature, 'g', signature] as const]),
  ];
  const header = new Writer();
  // Little-endian, a call, no flags, version 1.
  header.append(Buffer.of('l'.charCodeAt(0), 1, 0, 1));
  header.value('u', content.bytes.length);
  header.value('u', serial);
  const list = new Writer();
  for (const [code, type, value] of fields) {
    list.align(8);
    list.append(Buffer.of(code));
    list.value('g', type);
    list.value(type, value);
  }
  header.value('u', list.bytes.length);
  // The list begins at 16, a multiple of 8: what is aligned in it stays so.
  header.append(list.bytes);
  header.align(8);
  header.append(content.bytes);
  return header.bytes;
}

class Reader {
  readonly #bytes: Buffer;
  readonly #little: boolean;
  offset: number;

  constructor(bytes: Buffer, little: boolean, offset: number) {
    this.#bytes = bytes;
    this.#little = little;
    this.offset = offset;
  }

  align(to: number): void {
    this.offset = aligned(this.offset, to);
  }

  #take(length: number): Buffer {
    const end = this.offset + length;
    if (end > this.#bytes.length) throw new DBusFormatError('a message ends too early');
    const taken = this.#bytes.subarray(this.offset, end);
    this.offset = end;
    return taken;
  }

  word(): number {
    this.align(4);
    const bytes = this.#take(4);
    return this.#little ? bytes.readUInt32LE() : bytes.readUInt32BE();
  }

  #text(length: number): string {
    const text = this.#take(length).toString('utf8');
    this.#take(1);
    return text;
  }

  value(type: string): DBusValue {
    switch (type) {
      case 's':
      case 'o':
        return this.#text(this.word());
      case 'g':
        return this.#text(this.#take(1).readUInt8());
      case 'y':
        return this.#take(1).readUInt8();
      case 'u':
      case 'h':
        return this.word();
      case 'i':
        return this.word() | 0;
      case 'b':
        return this.word() !== 0;
      case 't':
      case 'x': {
        this.align(8);
        const bytes = this.#take(8);
        return this.#little ? bytes.readBigUInt64LE() : bytes.readBigUInt64BE();
      }
      case 'v': {
        const inner = this.#text(this.#take(1).readUInt8());
        return this.value(inner);
      }
      default:
        throw new DBusFormatError(`values of type ${type} are not read`);
    }
  }
}

const READABLE = /^[sogyuhibtxv]*$/;

function readBody(bytes: Buffer, little: boolean, signature: string): readonly DBusValue[] {
  if (!READABLE.test(signature)) return [];
  const reader = new Reader(bytes, little, 0);
  return signature.split('').map((type) => reader.value(type));
}

/** The first message in what came, and how long it is; undefined while it is not whole.
 *  @throws DBusFormatError */
export function decodeMessage(
  bytes: Buffer,
): { readonly message: DBusMessage; readonly length: number } | undefined {
  if (bytes.length < FIXED_HEADER) return undefined;
  const little = bytes[0] === 'l'.charCodeAt(0);
  const lengths = new Reader(bytes, little, 4);
  const bodyLength = lengths.word();
  const serial = lengths.word();
  const fieldsLength = lengths.word();
  const bodyStart = aligned(FIXED_HEADER + fieldsLength, 8);
  const length = bodyStart + bodyLength;
  if (length > LONGEST) throw new DBusFormatError(`a message of ${length} bytes is too long`);
  if (bytes.length < length) return undefined;
  const fields = new Map<number, DBusValue>();
  const reader = new Reader(bytes.subarray(0, length), little, FIXED_HEADER);
  while (reader.offset < FIXED_HEADER + fieldsLength) {
    reader.align(8);
    const code = Number(reader.value('y'));
    fields.set(code, reader.value('v'));
  }
  const type = TYPES[bytes[1] ?? 0];
  if (type === undefined) throw new DBusFormatError(`messages of type ${bytes[1]} are not known`);
  const text = (code: number): string => String(fields.get(code) ?? '');
  const message: DBusMessage = {
    type,
    serial,
    replySerial: Number(fields.get(FIELD.replySerial) ?? 0),
    path: text(FIELD.path),
    interface: text(FIELD.interface),
    member: text(FIELD.member),
    sender: text(FIELD.sender),
    errorName: text(FIELD.errorName),
    body: readBody(bytes.subarray(bodyStart, length), little, text(FIELD.signature)),
  };
  return { message, length };
}
