/** Rules in the expression language: compiled against the types of their variables, evaluated with a limit of work. Pure. */
import { compile } from './compile.ts';
import { parseExpression } from './parser.ts';
import { type Compiled, CostLimitError, type Run, type Variable } from './program.ts';
import type { CelType } from './types.ts';
import { CelError, type CelValue } from './values.ts';

export interface Program {
  readonly type: CelType;
  /** Most work of one evaluation, by the bounds of the types. */
  readonly cost: number;
  /** Whether the rule names the variable. */
  readonly uses: (variable: string) => boolean;
  /** Evaluates the rule. @param limit of work */
  evaluate(values: readonly CelValue[], limit: number): Evaluated;
}

export interface Evaluated {
  /** `undefined`: the limit was exceeded. */
  readonly value: CelValue | undefined;
  readonly cost: number;
}

/** Compiles the rule. @param variables by name, in the order of the values @throws ExpressionError */
export function compileExpression(text: string, variables: Readonly<Record<string, CelType>>): Program {
  const entries = Object.entries(variables).map(([name, type], slot): readonly [string, Variable] => [
    name,
    { type, slot },
  ]);
  const used = { slots: entries.length, names: new Set<string>() };
  const scope = { variables: new Map(entries), depth: entries.length, used };
  const compiled = compile(parseExpression(text), scope);
  return {
    type: compiled.type,
    cost: compiled.cost,
    uses: (variable) => used.names.has(variable),
    evaluate: (values, limit) => evaluate(compiled, values, limit),
  };
}

function evaluate(compiled: Compiled, values: readonly CelValue[], limit: number): Evaluated {
  const run: Run = { slots: [...values], left: limit };
  try {
    const value = compiled.run(run);
    return run.left < 0 ? { value: undefined, cost: limit } : { value, cost: limit - run.left };
  } catch (thrown) {
    if (thrown instanceof CostLimitError) return { value: undefined, cost: limit };
    // Deep values of an object exhaust the stack at most.
    if (thrown instanceof RangeError)
      return { value: new CelError('the value is nested too deeply'), cost: limit - run.left };
    throw thrown;
  }
}
