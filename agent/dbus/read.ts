/** Decoder of D-Bus messages. Pure. Decodes bodies of basic types only, since no caller needs others. */
import {
  aligned,
  DBusFormatError,
  type DBusMessage,
  type DBusMessageType,
  type DBusPlain,
  FIELD,
} from './message.ts';

const TYPES: readonly (DBusMessageType | undefined)[] = [undefined, 'call', 'return', 'error', 'signal'];
const FIXED_HEADER = 16;
/** Far above the messages of a bus to this client. */
const LONGEST = 1024 * 1024;

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
    if (end > this.#bytes.length) throw new DBusFormatError('message truncated');
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

  value(type: string): DBusPlain {
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
        throw new DBusFormatError(`cannot read values of type ${type}`);
    }
  }
}

const READABLE = /^[sogyuhibtxv]*$/;

function readBody(bytes: Buffer, little: boolean, signature: string): readonly DBusPlain[] {
  if (!READABLE.test(signature)) return [];
  const reader = new Reader(bytes, little, 0);
  return signature.split('').map((type) => reader.value(type));
}

/** Returns the first message in the bytes and its length; undefined while it is incomplete.
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
  if (length > LONGEST) throw new DBusFormatError(`message of ${length} bytes is too long`);
  if (bytes.length < length) return undefined;
  const fields = new Map<number, DBusPlain>();
  const reader = new Reader(bytes.subarray(0, length), little, FIXED_HEADER);
  while (reader.offset < FIXED_HEADER + fieldsLength) {
    reader.align(8);
    const code = Number(reader.value('y'));
    fields.set(code, reader.value('v'));
  }
  const type = TYPES[bytes[1] ?? 0];
  if (type === undefined) throw new DBusFormatError(`unknown message type ${bytes[1]}`);
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
