/** Message codec: encodes and decodes the messages of one package from its table, without generated code.
 *  A message is prepared when first used: most programs use a fraction of a package.
 *
 *  Decoded shape: camelCase names; 64-bit integers are bigint; enums are names (see `createEnumCodec`); an
 *  absent message, `optional` scalar or `oneof` member is undefined, an absent list or map is empty (and frozen,
 *  shared by all), any other absent scalar is its zero. A message that comes twice is merged, of scalars the
 *  last counts. Encoding takes the same shape with anything left out; fields go out in ascending order. */
import { ProtobufError } from './error.ts';
import { type DecodedMessage, readFields, writeFields } from './fields.ts';
import { createPlanner } from './plan.ts';
import { DEFAULT_READER_LIMITS, Reader, type ReaderLimits } from './reader.ts';
import { type ProtoTable, WELL_KNOWN_MESSAGES } from './table.ts';
import { Writer } from './writer.ts';

export interface MessageType {
  readonly name: string;
  /** @throws ProtobufError (`InvalidValue`) with the path of the invalid field. */
  encode(message: object): Uint8Array;
  /** @throws ProtobufError if the bytes are not such a message or exceed the limits. */
  decode(bytes: Uint8Array): DecodedMessage;
}

export interface MessageTypes {
  /** @throws ProtobufError (`UnknownType`) if the table lacks it. */
  type(name: string): MessageType;
}

export function createMessageTypes(
  table: ProtoTable,
  limits: ReaderLimits = DEFAULT_READER_LIMITS,
): MessageTypes {
  const planOf = createPlanner(table);
  const reader = new Reader(limits);
  const writer = new Writer();
  const types = new Map<string, MessageType>();

  function create(name: string): MessageType {
    const plan = planOf(name);
    return {
      name,
      encode(message) {
        writer.reset();
        writeFields(plan(), writer, message);
        return writer.finish();
      },
      decode(bytes) {
        reader.reset(bytes);
        try {
          return readFields(plan(), reader, undefined);
        } finally {
          reader.release();
        }
      },
    };
  }

  return {
    type(name) {
      const known = types.get(name);
      if (known !== undefined) return known;
      if (!Object.hasOwn(table.messages, name) && !Object.hasOwn(WELL_KNOWN_MESSAGES, name)) {
        throw new ProtobufError('UnknownType', `no message ${name} in package ${table.protoPackage}`);
      }
      const type = create(name);
      types.set(name, type);
      return type;
    },
  };
}
