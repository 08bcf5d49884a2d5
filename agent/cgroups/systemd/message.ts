/** Calls of systemd's manager as bytes of D-Bus, and its answers. Pure: what little of the format making slices needs.
 *  @see the D-Bus specification, "Message Protocol"; org.freedesktop.systemd1(5) */

/** A property of a unit: a number of 64 bits, a truth value or a text. */
export type UnitProperty = readonly [name: string, value: bigint | boolean | string];

export interface ManagerCall {
  readonly member: 'StartTransientUnit' | 'SetUnitProperties' | 'StopUnit';
  readonly unit: string;
  readonly properties?: readonly UnitProperty[];
}

/** An answer to a call. */
export interface ManagerReply {
  readonly replySerial: number;
  /** Undefined when the call went well. */
  readonly errorName: string | undefined;
}

/** Bytes that are no message of D-Bus. */
export class BusFormatError extends Error {
  override readonly name = 'BusFormatError';
}

const TYPE = { call: 1, error: 3 } as const;
const FIELD = { path: 1, interface: 2, member: 3, error: 4, reply: 5, destination: 6, signature: 8 } as const;
const HEADER_BYTES = 16;
/** The manager says far less to those who ask for so little. */
const LONGEST = 1024 * 1024;

class Writer {
  #parts: Buffer[] = [];
  #length = 0;

  bytes(): Buffer {
    return Buffer.concat(this.#parts);
  }

  #append(more: Buffer): void {
    this.#parts.push(more);
    this.#length += more.length;
  }

  align(to: number): void {
    this.#append(Buffer.alloc((to - (this.#length % to)) % to));
  }

  byte(value: number): void {
    this.#append(Buffer.of(value));
  }

  word(value: number): void {
    this.align(4);
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value);
    this.#append(bytes);
  }

  long(value: bigint): void {
    this.align(8);
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(value);
    this.#append(bytes);
  }

  text(value: string): void {
    const bytes = Buffer.from(value);
    this.word(bytes.length);
    this.#append(Buffer.concat([bytes, Buffer.of(0)]));
  }

  signature(value: string): void {
    this.#append(Buffer.concat([Buffer.of(value.length), Buffer.from(value), Buffer.of(0)]));
  }

  /** An array of structures: its length counts from the first of them on. */
  array(write: (to: Writer) => void): void {
    // Within the array offsets are the same as in the message, as it begins at a multiple of 8.
    const inner = new Writer();
    write(inner);
    this.word(inner.#length);
    this.align(8);
    this.#append(inner.bytes());
  }
}

function writeProperties(to: Writer, properties: readonly UnitProperty[]): void {
  to.array((list) => {
    for (const [name, value] of properties) {
      list.align(8);
      list.text(name);
      if (typeof value === 'bigint') {
        list.signature('t');
        list.long(value);
      } else if (typeof value === 'boolean') {
        list.signature('b');
        list.word(value ? 1 : 0);
      } else {
        list.signature('s');
        list.text(value);
      }
    }
  });
}

function body({ member, unit, properties = [] }: ManagerCall): { signature: string; bytes: Buffer } {
  const to = new Writer();
  to.text(unit);
  switch (member) {
    case 'StartTransientUnit':
      to.text('replace');
      writeProperties(to, properties);
      to.array(() => undefined);
      return { signature: 'ssa(sv)a(sa(sv))', bytes: to.bytes() };
    case 'SetUnitProperties':
      // For as long as the machine runs.
      to.word(1);
      writeProperties(to, properties);
      return { signature: 'sba(sv)', bytes: to.bytes() };
    case 'StopUnit':
      to.text('replace');
      return { signature: 'ss', bytes: to.bytes() };
    default:
      return member satisfies never;
  }
}

/** @param serial from 1 on, another for each call */
export function encodeManagerCall(call: ManagerCall, serial: number): Buffer {
  const { signature, bytes } = body(call);
  const to = new Writer();
  to.byte('l'.charCodeAt(0));
  to.byte(TYPE.call);
  to.byte(0);
  to.byte(1);
  to.word(bytes.length);
  to.word(serial);
  to.array((fields) => {
    const field = (code: number, type: string, value: string): void => {
      fields.align(8);
      fields.byte(code);
      fields.signature(type);
      if (type === 'g') fields.signature(value);
      else fields.text(value);
    };
    field(FIELD.path, 'o', '/org/freedesktop/systemd1');
    field(FIELD.interface, 's', 'org.freedesktop.systemd1.Manager');
    field(FIELD.member, 's', call.member);
    field(FIELD.destination, 's', 'org.freedesktop.systemd1');
    field(FIELD.signature, 'g', signature);
  });
  to.align(8);
  return Buffer.concat([to.bytes(), bytes]);
}

const aligned = (offset: number, to: number): number => Math.ceil(offset / to) * to;

/** Reads the first message; undefined as long as it is not whole. Signals are read too, with no serial.
 *  @throws BusFormatError */
export function decodeReply(
  bytes: Buffer,
): { readonly reply: ManagerReply; readonly length: number } | undefined {
  if (bytes.length < HEADER_BYTES) return undefined;
  if (bytes[0] !== 'l'.charCodeAt(0)) throw new BusFormatError('the manager speaks another order of bytes');
  const fieldsEnd = HEADER_BYTES + bytes.readUInt32LE(12);
  const length = aligned(fieldsEnd, 8) + bytes.readUInt32LE(4);
  if (length > LONGEST) throw new BusFormatError(`a message of ${length} bytes is not expected`);
  if (bytes.length < length) return undefined;
  const isError = bytes[1] === TYPE.error;
  let replySerial = 0;
  let errorName = '';
  for (let at = HEADER_BYTES; at < fieldsEnd; ) {
    at = aligned(at, 8);
    const code = bytes[at] ?? 0;
    const type = String.fromCharCode(bytes[at + 2] ?? 0);
    at += 4;
    if (type === 'u') {
      if (code === FIELD.reply) replySerial = bytes.readUInt32LE(at);
      at += 4;
    } else if (type === 'g') {
      at += (bytes[at] ?? 0) + 2;
    } else {
      const size = bytes.readUInt32LE(at);
      if (code === FIELD.error) errorName = bytes.toString('utf8', at + 4, at + 4 + size);
      at += size + 5;
    }
  }
  return { reply: { replySerial, errorName: isError ? errorName : undefined }, length };
}
