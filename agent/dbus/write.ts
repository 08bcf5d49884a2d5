/** Encoder of D-Bus method calls. Pure. */
import {
  aligned,
  type DBusCall,
  DBusFormatError,
  type DBusPlain,
  type DBusValue,
  type DBusVariant,
  FIELD,
} from './message.ts';

/** Returns the first complete type of a signature: `a(sv)` of `a(sv)u`. */
function firstType(signature: string): string {
  const [first = ''] = signature;
  if (first === 'a') return `a${firstType(signature.slice(1))}`;
  if (first !== '(') return first;
  let depth = 0;
  const end = signature.split('').findIndex((letter) => {
    if (letter === '(') depth += 1;
    if (letter === ')') depth -= 1;
    return depth === 0;
  });
  if (end < 0) throw new DBusFormatError(`signature ${signature} is unterminated`);
  return signature.slice(0, end + 1);
}

function typesOf(signature: string): readonly string[] {
  if (signature === '') return [];
  const first = firstType(signature);
  return [first, ...typesOf(signature.slice(first.length))];
}

const isVariant = (value: DBusValue): value is DBusVariant => typeof value === 'object' && 'type' in value;

function plain(value: DBusValue): DBusPlain {
  if (typeof value !== 'object') return value;
  throw new DBusFormatError('basic types need a string, a number or a boolean');
}

function listed(value: DBusValue): readonly DBusValue[] {
  if (typeof value === 'object' && !isVariant(value)) return value;
  throw new DBusFormatError('arrays and structs need an array');
}

const ALIGNED_TO_8: ReadonlySet<string> = new Set(['(', 't', 'x']);

/** Appends values, each aligned to its size. */
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

  values(signature: string, values: readonly DBusValue[]): void {
    typesOf(signature).forEach((type, index) => this.value(type, values[index] ?? ''));
  }

  value(type: string, value: DBusValue): void {
    switch (type.charAt(0)) {
      case 's':
      case 'o':
        return this.#text(String(plain(value)));
      case 'y':
        return this.append(Buffer.of(Number(plain(value))));
      case 'g':
        return this.#signature(String(plain(value)));
      case 'i':
      case 'u':
      case 'b':
        return this.#word(type, Number(plain(value)));
      case 't':
        return this.#long(BigInt(String(plain(value))));
      case 'v':
        return this.#variant(value);
      case '(':
        this.align(8);
        return this.values(type.slice(1, -1), listed(value));
      case 'a':
        return this.#array(type.slice(1), listed(value));
      default:
        throw new DBusFormatError(`cannot write values of type ${type}`);
    }
  }

  #text(text: string): void {
    const bytes = Buffer.from(text);
    this.#word('u', bytes.length);
    this.append(Buffer.concat([bytes, Buffer.of(0)]));
  }

  #signature(text: string): void {
    this.append(Buffer.concat([Buffer.of(text.length), Buffer.from(text), Buffer.of(0)]));
  }

  #word(type: string, value: number): void {
    this.align(4);
    const word = Buffer.alloc(4);
    if (type === 'i') word.writeInt32LE(value);
    else word.writeUInt32LE(value);
    this.append(word);
  }

  #long(value: bigint): void {
    this.align(8);
    const long = Buffer.alloc(8);
    long.writeBigUInt64LE(value);
    this.append(long);
  }

  #variant(value: DBusValue): void {
    if (!isVariant(value)) throw new DBusFormatError('a variant needs its type');
    this.#signature(value.type);
    this.value(value.type, value.value);
  }

  /** Its length excludes the padding before the first element. */
  #array(type: string, values: readonly DBusValue[]): void {
    this.#word('u', 0);
    const lengthAt = this.#bytes.length - 4;
    this.align(ALIGNED_TO_8.has(type[0] ?? '') ? 8 : 4);
    const start = this.#bytes.length;
    for (const value of values) this.value(type, value);
    this.#bytes.writeUInt32LE(this.#bytes.length - start, lengthAt);
  }
}

/** Encodes a method call. @param serial from 1 on, unique per connection */
export function encodeCall(call: DBusCall, serial: number): Buffer {
  const { signature = '', body = [] } = call;
  const content = new Writer();
  content.values(signature, body);
  const field = (code: number, type: string, value: string): DBusValue => [code, { type, value }];
  const header = new Writer();
  // Little-endian, method call, no flags, version 1.
  header.append(Buffer.of('l'.charCodeAt(0), 1, 0, 1));
  header.value('u', content.bytes.length);
  header.value('u', serial);
  header.value('a(yv)', [
    field(FIELD.path, 'o', call.path),
    field(FIELD.interface, 's', call.interface),
    field(FIELD.member, 's', call.member),
    field(FIELD.destination, 's', call.destination),
    ...(signature === '' ? [] : [field(FIELD.signature, 'g', signature)]),
  ]);
  header.align(8);
  header.append(content.bytes);
  return header.bytes;
}
