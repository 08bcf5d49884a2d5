/** Comprehensions: `all`, `exists`, `exists_one`, `map` and `filter`. Pure. Source: CEL specification, macros. */

import { NO_OVERLOAD } from './overload.ts';
import type { Compiled, Run, Scope } from './program.ts';
import { type Expression, ExpressionError, type MacroName } from './syntax.ts';
import { BOOL, type CelType, DYN, listOf, simple, sizeOf, typeName } from './types.ts';
import { CelList, type CelValue, isError, isMap } from './values.ts';

type Macro = Extract<Expression, { readonly kind: 'macro' }>;
type Compile = (expression: Expression, scope: Scope) => Compiled;

/** Type of the variable: items of a list, keys of a map. */
function itemType(range: CelType, at: number): CelType {
  if (range.kind === 'list') return range.item;
  if (range.kind === 'map') return range.key;
  if (range.kind === 'object') return simple('string');
  if (range.kind === 'dyn') return DYN;
  throw new ExpressionError(
    `expression of type '${typeName(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
    at,
  );
}

const itemsOf = (range: CelValue): Iterable<CelValue> | undefined => {
  if (range instanceof CelList) return range;
  return isMap(range) ? range.keys() : undefined;
};

const needsBool = ({ type }: Compiled, at: number): void => {
  if (type.kind !== 'bool' && type.kind !== 'dyn')
    throw new ExpressionError(`expected type 'bool' but found '${typeName(type)}'`, at);
};

/** Work of each item beyond its expressions. */
const ITEM_COST = 2;

export function compileMacro(
  { macro, range, variable, steps, at }: Macro,
  scope: Scope,
  compile: Compile,
): Compiled {
  const of = compile(range, scope);
  const slot = scope.depth;
  const type = itemType(of.type, at);
  scope.used.slots = Math.max(scope.used.slots, slot + 1);
  const inner: Scope = {
    ...scope,
    variables: new Map([...scope.variables, [variable, { type, slot }]]),
    depth: slot + 1,
  };
  const parts = steps.map((step) => compile(step, inner));
  const [first, second] = parts;
  if (first === undefined) throw new ExpressionError(`${macro}() lacks an expression`, at);
  const test = macro === 'map' && second === undefined ? undefined : first;
  if (test !== undefined) needsBool(test, at);
  const size = of.type.kind === 'object' ? of.type.fields.size : sizeOf(of.type);
  const fold = FOLDS[macro](test, second ?? first);
  return {
    type: resultType(macro, type, second ?? first, size),
    cost: of.cost + size * parts.reduce((sum, { cost }) => sum + cost, ITEM_COST),
    run(run) {
      const value = of.run(run);
      if (isError(value)) return value;
      const items = itemsOf(value);
      return items === undefined ? NO_OVERLOAD : fold(items, slot, run);
    },
  };
}

function resultType(macro: MacroName, item: CelType, result: Compiled, size: number): CelType {
  if (macro === 'map') return listOf(result.type, size);
  return macro === 'filter' ? listOf(item, size) : BOOL;
}

type Fold = (items: Iterable<CelValue>, slot: number, run: Run) => CelValue;

/** Counts the item, and sets the variable. */
function enter(run: Run, slot: number, item: CelValue): void {
  run.left -= ITEM_COST;
  run.slots[slot] = item;
}

/** Stops at the deciding value; an error of another item does not matter then. */
const quantifier =
  (decisive: boolean) =>
  (test: Compiled | undefined): Fold =>
  (items, slot, run) => {
    let failed: CelValue | undefined;
    for (const item of items) {
      enter(run, slot, item);
      const value = test?.run(run) ?? null;
      if (value === decisive) return decisive;
      if (isError(value)) failed ??= value;
      else if (typeof value !== 'boolean') failed ??= NO_OVERLOAD;
    }
    return failed ?? !decisive;
  };

const existsOne =
  (test: Compiled | undefined): Fold =>
  (items, slot, run) => {
    let count = 0;
    for (const item of items) {
      enter(run, slot, item);
      const value = test?.run(run) ?? null;
      if (isError(value)) return value;
      if (typeof value !== 'boolean') return NO_OVERLOAD;
      if (value) count += 1;
    }
    return count === 1;
  };

const select =
  (result: 'item' | 'expression') =>
  (test: Compiled | undefined, expression: Compiled): Fold =>
  (items, slot, run) => {
    const found: CelValue[] = [];
    for (const item of items) {
      enter(run, slot, item);
      const value = test === undefined ? true : test.run(run);
      if (isError(value)) return value;
      if (typeof value !== 'boolean') return NO_OVERLOAD;
      if (!value) continue;
      const each = result === 'item' ? item : expression.run(run);
      if (isError(each)) return each;
      found.push(each);
    }
    return CelList.of(found);
  };

const FOLDS: Readonly<Record<MacroName, (test: Compiled | undefined, expression: Compiled) => Fold>> = {
  all: quantifier(false),
  exists: quantifier(true),
  exists_one: existsOne,
  map: select('expression'),
  filter: select('item'),
};
