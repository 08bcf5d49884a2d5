/** Type checker and compiler of the expression language: each node becomes its type, the work that it may need at most,
 *  and a function that computes it. Pure. Source: CEL specification; cel-go's checker, cost estimate and cost limit. */
import { type Charge, equals } from './equality.ts';
import { FUNCTIONS } from './library.ts';
import { compileMacro } from './macros.ts';
import { accepts, kindOfValue, NO_OVERLOAD, type Overload } from './overload.ts';
import { type Compiled, charge, type Scope } from './program.ts';
import { type Constant, type Expression, ExpressionError } from './syntax.ts';
import { BOOL, type CelType, DYN, join, listOf, simple, sizeOf, typeName } from './types.ts';
import { CelError, CelList, CelUint, type CelValue, isError, isMap, keyText, mapOf } from './values.ts';

const chargeOf =
  (run: Parameters<Compiled['run']>[0]): Charge =>
  (cost) =>
    charge(run, cost);

/** Names of types as values. */
const TYPE_NAMES = ['int', 'uint', 'double', 'bool', 'string', 'bytes', 'list', 'map', 'null_type', 'type'];

/** @throws ExpressionError */
export function compile(expression: Expression, scope: Scope): Compiled {
  switch (expression.kind) {
    case 'constant':
      return compileConstant(expression.value);
    case 'name':
      return compileName(expression, scope);
    case 'select':
      return compileSelect(expression, scope);
    case 'call':
      return compileCall(expression, scope);
    case 'list':
      return compileList(expression, scope);
    case 'map':
      return compileMap(expression, scope);
    case 'macro':
      return compileMacro(expression, scope, compile);
    default:
      return expression satisfies never;
  }
}

function compileConstant(constant: Constant): Compiled {
  const { type } = constant;
  if (type === 'null') return { type: simple('null'), cost: 0, run: () => null };
  const value = type === 'uint' ? new CelUint(constant.value) : constant.value;
  const most = typeof value === 'string' || value instanceof Uint8Array ? { most: value.length } : {};
  return { type: { kind: type, ...most }, cost: 0, run: () => value };
}

type Of<K extends Expression['kind']> = Extract<Expression, { readonly kind: K }>;

function compileName({ name, at }: Of<'name'>, { variables, used }: Scope): Compiled {
  const variable = variables.get(name);
  if (variable !== undefined) {
    used.names.add(name);
    const { slot, type } = variable;
    return {
      type,
      cost: 1,
      run(run) {
        charge(run, 1);
        return run.slots[slot] ?? null;
      },
    };
  }
  if (!TYPE_NAMES.includes(name)) throw new ExpressionError(`undeclared reference to '${name}'`, at);
  const operand = FUNCTIONS.get('type')?.[0];
  const example = TYPE_VALUES[name] ?? null;
  const value = operand?.call([example], () => undefined) ?? null;
  return { type: simple('type'), cost: 1, run: () => value };
}

const TYPE_VALUES: Readonly<Record<string, CelValue>> = {
  int: 0n,
  uint: new CelUint(0n),
  double: 0,
  bool: false,
  string: '',
  bytes: new Uint8Array(),
  list: CelList.of([]),
  map: mapOf(new Map()),
  null_type: null,
};

function fieldType(operand: CelType, field: string, at: number): CelType {
  if (operand.kind === 'dyn') return DYN;
  if (operand.kind === 'map' && (operand.key.kind === 'string' || operand.key.kind === 'dyn'))
    return operand.value;
  if (operand.kind === 'object') {
    const found = operand.fields.get(field);
    if (found !== undefined) return found.type;
    throw new ExpressionError(`undefined field '${field}'`, at);
  }
  throw new ExpressionError(`type '${typeName(operand)}' does not support field selection`, at);
}

function compileSelect({ operand, field, test, at }: Of<'select'>, scope: Scope): Compiled {
  const of = compile(operand, scope);
  const type = fieldType(of.type, field, at);
  const missing = new CelError(`no such key: ${field}`);
  return {
    type: test ? BOOL : type,
    cost: of.cost + 1,
    run(run) {
      charge(run, 1);
      const value = of.run(run);
      if (isError(value)) return value;
      if (!isMap(value)) return test && value === null ? false : NO_OVERLOAD;
      if (test) return value.has(field);
      return value.get(field) ?? (value.has(field) ? null : missing);
    },
  };
}

function compileCall(expression: Of<'call'>, scope: Scope): Compiled {
  const args = expression.args.map((arg) => compile(arg, scope));
  const [first, second, third] = args;
  const { name, at } = expression;
  if (first !== undefined && second !== undefined) {
    if (name === '&&' || name === '||') return compileLogic(name === '||', first, second, at);
    if (name === '==' || name === '!=') return compileEquality(name === '==', first, second, at);
    if (name === '?:' && third !== undefined) return compileChoice(first, second, third, at);
  }
  return compileFunction(expression, args);
}

function needsBool({ type }: Compiled, at: number): void {
  if (type.kind !== 'bool' && type.kind !== 'dyn')
    throw new ExpressionError(`expected type 'bool' but found '${typeName(type)}'`, at);
}

/** Absorbs an error of one operand if the other decides. */
function compileLogic(decisive: boolean, left: Compiled, right: Compiled, at: number): Compiled {
  needsBool(left, at);
  needsBool(right, at);
  return {
    type: BOOL,
    cost: left.cost + right.cost,
    run(run) {
      const one = left.run(run);
      if (one === decisive) return decisive;
      const other = right.run(run);
      if (other === decisive) return decisive;
      if (isError(one)) return one;
      if (isError(other)) return other;
      return typeof one === 'boolean' && typeof other === 'boolean' ? !decisive : NO_OVERLOAD;
    },
  };
}

const noOverload = (name: string, args: readonly Compiled[], at: number): ExpressionError =>
  new ExpressionError(
    `found no matching overload for '${name}' applied to '(${args.map(({ type }) => typeName(type)).join(', ')})'`,
    at,
  );

/** Work of a comparison of two values at most. */
function compareCost(type: CelType): number {
  if (type.kind === 'string' || type.kind === 'bytes') return 1 + Math.ceil(sizeOf(type) / 10);
  if (type.kind === 'list') return 1 + sizeOf(type) * compareCost(type.item);
  if (type.kind === 'map') return 1 + sizeOf(type) * compareCost(type.value);
  if (type.kind !== 'object') return 1;
  return [...type.fields.values()].reduce((sum, field) => sum + compareCost(field.type), 1);
}

function compileEquality(isEqual: boolean, left: Compiled, right: Compiled, at: number): Compiled {
  if (join(left.type, right.type) === undefined) throw noOverload(isEqual ? '==' : '!=', [left, right], at);
  const work = Math.min(compareCost(left.type), compareCost(right.type));
  return {
    type: BOOL,
    cost: left.cost + right.cost + work,
    run(run) {
      const one = left.run(run);
      if (isError(one)) return one;
      const other = right.run(run);
      if (isError(other)) return other;
      return equals(one, other, chargeOf(run)) === isEqual;
    },
  };
}

function compileChoice(condition: Compiled, yes: Compiled, no: Compiled, at: number): Compiled {
  needsBool(condition, at);
  const type = join(yes.type, no.type);
  if (type === undefined) throw noOverload('?:', [condition, yes, no], at);
  return {
    type,
    cost: condition.cost + 1 + Math.max(yes.cost, no.cost),
    run(run) {
      charge(run, 1);
      const value = condition.run(run);
      if (typeof value !== 'boolean') return isError(value) ? value : NO_OVERLOAD;
      return value ? yes.run(run) : no.run(run);
    },
  };
}

function resultOf(candidates: readonly Overload[], types: readonly CelType[]): CelType {
  const results = candidates.map(({ result }) => result(types));
  return results.reduce((left, right) => (left.kind === right.kind ? left : DYN), results[0] ?? DYN);
}

/** Items of a list, or keys of a map, must be comparable with the value. */
function isComparable(name: string, [left = DYN, right = DYN]: readonly CelType[]): boolean {
  if (name === 'in' && right.kind === 'list') return join(left, right.item) !== undefined;
  if (name === 'in' && right.kind === 'map') return join(left, right.key) !== undefined;
  if (name === '[]' && left.kind === 'map') return join(right, left.key) !== undefined;
  if (name === '[]' && left.kind === 'object') return false;
  if (name === '+' && left.kind === 'list') return join(left, right) !== undefined;
  return true;
}

function compileFunction({ name, member, at }: Of<'call'>, args: readonly Compiled[]): Compiled {
  const types = args.map(({ type }) => type);
  const named = FUNCTIONS.get(name)?.filter((each) => each.member === member) ?? [];
  if (named.length === 0) throw new ExpressionError(`undeclared reference to '${name}'`, at);
  const candidates = named.filter(
    ({ params }) =>
      params.length === types.length && params.every((param, index) => accepts(param, types[index] ?? DYN)),
  );
  if (candidates.length === 0 || !isComparable(name, types)) throw noOverload(name, args, at);
  const most = candidates.map(({ cost }) => cost?.(types.map(sizeOf)) ?? 0);
  return {
    type: resultOf(candidates, types),
    cost: args.reduce((sum, arg) => sum + arg.cost, 1 + Math.max(...most)),
    run: callOf(candidates, args),
  };
}

function callOf(candidates: readonly Overload[], args: readonly Compiled[]): Compiled['run'] {
  return (run) => {
    charge(run, 1);
    const values: CelValue[] = [];
    for (const arg of args) {
      const value = arg.run(run);
      if (isError(value)) return value;
      values.push(value);
    }
    const found = candidates.find(({ params }) =>
      params.every((param, index) => param === 'any' || kindOfValue(values[index] ?? null) === param),
    );
    return found === undefined ? NO_OVERLOAD : found.call(values, chargeOf(run));
  };
}

const LIST_COST = 10;
const MAP_COST = 30;

/** Mixed types make the items dynamic, as in cel-go without homogeneous literals. */
const commonType = (parts: readonly Compiled[]): CelType =>
  parts
    .map(({ type }) => type)
    .reduce<CelType | undefined>(
      (left, right) => (left === undefined ? right : (join(left, right) ?? DYN)),
      undefined,
    ) ?? DYN;

function compileList({ items }: Of<'list'>, scope: Scope): Compiled {
  const parts = items.map((item) => compile(item, scope));
  return {
    type: listOf(commonType(parts), parts.length),
    cost: parts.reduce((sum, { cost }) => sum + cost, LIST_COST),
    run(run) {
      charge(run, LIST_COST);
      const values = parts.map((part) => part.run(run));
      return values.find(isError) ?? CelList.of(values);
    },
  };
}

const MOST_KEYS: ReadonlySet<string> = new Set(['string', 'int', 'uint', 'bool', 'dyn']);

function compileMap({ entries, at }: Of<'map'>, scope: Scope): Compiled {
  const parts = entries.map(([key, value]) => [compile(key, scope), compile(value, scope)] as const);
  const key = commonType(parts.map(([each]) => each));
  const value = commonType(parts.map(([, each]) => each));
  if (!MOST_KEYS.has(key.kind)) throw new ExpressionError(`'${typeName(key)}' is not a type of keys`, at);
  return {
    type: { kind: 'map', key, value, most: parts.length },
    cost: parts.flat().reduce((sum, { cost }) => sum + cost, MAP_COST),
    run(run) {
      charge(run, MAP_COST);
      const found = new Map<string, readonly [CelValue, CelValue]>();
      for (const [keyPart, valuePart] of parts) {
        const pair = [keyPart.run(run), valuePart.run(run)] as const;
        const failed = pair.find(isError);
        if (failed !== undefined) return failed;
        const text = keyText(pair[0]);
        if (text === undefined) return new CelError('unsupported key type');
        if (found.has(text)) return new CelError('repeated key in a map');
        found.set(text, pair);
      }
      return mapOf(found);
    },
  };
}
