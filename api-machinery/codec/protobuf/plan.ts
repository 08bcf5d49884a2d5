/** Message plans: prepares the messages of a table for reading and writing, each at its first use. */
import { ProtobufError } from './error.ts';
import { absentValue, createMessageCodec, type Field, type Plan } from './fields.ts';
import { createEnumCodec, SCALARS, type ValueCodec } from './scalar.ts';
import {
  type FieldFact,
  type ProtoTable,
  parseEnum,
  parseFields,
  resolveType,
  WELL_KNOWN_MESSAGES,
} from './table.ts';

/** Returns each message's plan, created at its first use, which also allows recursive messages. */
export function createPlanner(table: ProtoTable): (name: string) => () => Plan {
  const api = table.syntax === 'proto2';
  const plans = new Map<string, Plan>();
  const enums = new Map<string, ValueCodec>();

  function enumCodec(name: string): ValueCodec {
    let codec = enums.get(name);
    if (codec === undefined) {
      codec = createEnumCodec(name, parseEnum(name, table.enums?.[name]));
      enums.set(name, codec);
    }
    return codec;
  }

  function valueCodec(owner: string, type: string): ValueCodec {
    const scalar = SCALARS[type];
    if (scalar !== undefined) return scalar;
    const enumName = resolveType(table.enums, owner, type);
    if (enumName !== undefined) return enumCodec(enumName);
    const message = resolveType(table.messages, owner, type) ?? resolveType(WELL_KNOWN_MESSAGES, '', type);
    if (message === undefined) throw new ProtobufError('UnknownType', `no type ${type}, named in ${owner}`);
    return createMessageCodec(planOf(message));
  }

  function toField(owner: string, fact: FieldFact, all: readonly FieldFact[]): Field {
    const value = valueCodec(owner, fact.type);
    const isMap = fact.mapKey !== undefined;
    if (isMap && fact.mapKey !== 'string') {
      throw new ProtobufError('UnknownType', `map ${owner}.${fact.name} is not keyed by text`);
    }
    const packed = fact.repeated && value.wireType !== 2 && !api;
    const wireType = packed || isMap ? 2 : value.wireType;
    const inOneof = fact.oneof !== undefined;
    const isMessage = value.zero === undefined;
    const whenSet = fact.optional || inOneof || (api ? fact.type === 'bytes' : isMessage);
    return {
      name: fact.name,
      tag: ((fact.number << 3) | wireType) >>> 0,
      shape: isMap ? 'map' : fact.repeated ? 'list' : 'single',
      value,
      packed,
      sortedKeys: api,
      presence: whenSet ? 'whenSet' : api ? 'always' : 'nonZero',
      rivals: inOneof ? all.filter((o) => o !== fact && o.oneof === fact.oneof).map((o) => o.name) : [],
    };
  }

  function createPlan(name: string): Plan {
    const facts = parseFields(name, table.messages[name] ?? WELL_KNOWN_MESSAGES[name]);
    const fields = facts.map((fact) => toField(name, fact, facts));
    const blank = Object.fromEntries(fields.map((field) => [field.name, absentValue(field)]));
    return { fields, byNumber: new Map(fields.map((field) => [field.tag >>> 3, field])), blank };
  }

  function planOf(name: string): () => Plan {
    return () => {
      let plan = plans.get(name);
      if (plan === undefined) {
        plan = createPlan(name);
        plans.set(name, plan);
      }
      return plan;
    };
  }

  return planOf;
}
