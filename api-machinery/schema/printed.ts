/** Objects as upstream's types print them, in the order of those types: empty members without omitempty are
 *  present, lists, times and pointers among them as null. For texts that clients compare byte by byte. Pure. */
import { isObject } from '../kit/object.ts';
import type { Vocabulary } from '../vocabulary.ts';
import {
  isEmptyValue,
  type MemberPlan,
  planOf,
  type StructPlan,
  type ValuePlan,
  zeroValue,
} from './decode-plan.ts';

type JsonObject = Readonly<Record<string, unknown>>;

function print(plan: ValuePlan, value: unknown): unknown {
  switch (plan.kind) {
    case 'struct':
      return isObject(value) ? printStruct(plan, value) : value;
    case 'list':
      return Array.isArray(value) ? value.map((item) => print(plan.element, item)) : value;
    case 'map':
      return isObject(value)
        ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, print(plan.element, item)]))
        : value;
    case 'scalar':
    case 'special':
      return value;
    default:
      return plan satisfies never;
  }
}

function printStruct(plan: StructPlan, value: JsonObject): JsonObject {
  const result: Record<string, unknown> = {};
  for (const member of plan.members.values()) {
    const printed = printMember(member, value[member.name]);
    if (printed !== undefined) result[member.name] = printed;
  }
  return result;
}

function printMember({ value: plan, omitEmpty, present, nullable }: MemberPlan, given: unknown): unknown {
  const isList = plan.kind === 'list' || plan.kind === 'map';
  const isAbsent = given === undefined || given === null;
  // An empty list is absent once it has been stored.
  if (nullable && (isAbsent || (isList && isEmptyValue(given)))) return null;
  if (isAbsent) return present ? print(plan, plan.kind === 'struct' ? {} : zeroValue(plan)) : undefined;
  return omitEmpty && isEmptyValue(given) ? undefined : print(plan, given);
}

/** Returns the value as upstream's type of that name prints it; unknown members are omitted.
 *  @throws UnknownTypeError */
export function printedForm(typeRef: string, value: unknown, vocabulary: Vocabulary): unknown {
  return print(planOf(typeRef, vocabulary), value);
}
