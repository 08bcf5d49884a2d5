/** Description of a protobuf package as data, and name resolution in it. */
import { isObject } from '../../kit/object.ts';
import { ProtobufError } from './error.ts';

/** A package as in its fact table. Members that start with `$` are comments.
 *  Messages and enums that are nested in another message are named `Outer.Inner`. */
export interface ProtoTable {
  readonly protoPackage: string;
  /** `proto3`: numbers packed, zero scalars left out. `proto2`: the rules of API objects, which are
   *  proto2 with generated code of its own habits: numbers unpacked, scalars and messages always
   *  written unless `optional`, map keys sorted. Unless given, `proto3`. */
  readonly syntax?: string;
  readonly messages: Readonly<Record<string, unknown>>;
  readonly enums?: Readonly<Record<string, unknown>>;
}

/** One field of a message, as parsed from the table. */
export interface FieldFact {
  /** Name in the decoded object. */
  readonly name: string;
  readonly number: number;
  readonly type: string;
  readonly repeated: boolean;
  /** The key's type if the field is a map; `type` is the value's. */
  readonly mapKey: string | undefined;
  /** A scalar whose absence differs from zero. */
  readonly optional: boolean;
  readonly oneof: string | undefined;
}

/** Messages of google.protobuf that a table may reference without defining them. */
export const WELL_KNOWN_MESSAGES: Readonly<Record<string, unknown>> = {
  'google.protobuf.BoolValue': { value: { number: 1, type: 'bool' } },
  'google.protobuf.Timestamp': {
    seconds: { number: 1, type: 'int64' },
    nanos: { number: 2, type: 'int32' },
  },
  'google.protobuf.Any': {
    type_url: { number: 1, type: 'string' },
    value: { number: 2, type: 'bytes' },
  },
};

/** Returns the name of a field in decoded objects: `pod_sandbox_id` is `podSandboxId`. */
function fieldName(protoName: string): string {
  return protoName.replaceAll(/(?<!_)_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** Returns the entry that `type` denotes in a field of message `owner`: the innermost scope wins. */
export function resolveType(
  names: Readonly<Record<string, unknown>> | undefined,
  owner: string,
  type: string,
): string | undefined {
  if (names === undefined) return undefined;
  for (let scope = owner; ; scope = scope.slice(0, Math.max(scope.lastIndexOf('.'), 0))) {
    const name = scope === '' ? type : `${scope}.${type}`;
    if (Object.hasOwn(names, name)) return name;
    if (scope === '') return undefined;
  }
}

/** The fields of a message by ascending number.
 *  @throws ProtobufError (`UnknownType`) if the table's entry is not a message. */
export function parseFields(message: string, entry: unknown): readonly FieldFact[] {
  if (!isObject(entry)) throw new ProtobufError('UnknownType', `no message ${message} in the table`);
  return Object.entries(entry)
    .filter(([name]) => !name.startsWith('$'))
    .map(([name, fact]) => parseField(`${message}.${name}`, name, fact))
    .sort((a, b) => a.number - b.number);
}

function parseField(where: string, protoName: string, fact: unknown): FieldFact {
  if (!isObject(fact) || typeof fact['number'] !== 'number' || typeof fact['type'] !== 'string') {
    throw new ProtobufError('UnknownType', `table entry ${where} has no number or type`);
  }
  return {
    name: fieldName(protoName),
    number: fact['number'],
    type: fact['type'],
    repeated: fact['repeated'] === true,
    mapKey: typeof fact['map'] === 'string' ? fact['map'] : undefined,
    optional: fact['optional'] === true,
    oneof: typeof fact['oneof'] === 'string' ? fact['oneof'] : undefined,
  };
}

/** The names and numbers of an enum.
 *  @throws ProtobufError (`UnknownType`) if the table's entry is not an enum. */
export function parseEnum(
  name: string,
  entry: unknown,
): readonly (readonly [name: string, number: number])[] {
  if (!isObject(entry)) throw new ProtobufError('UnknownType', `no enum ${name} in the table`);
  const values: [string, number][] = [];
  for (const [key, value] of Object.entries(entry)) {
    if (!key.startsWith('$') && typeof value === 'number') values.push([key, value]);
  }
  return values;
}
