/** Parser of the expression language: recursive descent over tokens, with a limit of depth; macros are expanded here.
 *  Source: CEL specification, langdef (grammar, macros). */
import { type Token, tokensOf } from './lexer.ts';
import { type Expression, ExpressionError, MACROS, type MacroName } from './syntax.ts';

/** Deepest nesting. */
const MAX_DEPTH = 100;

const RELATIONS: ReadonlySet<string> = new Set(['<', '<=', '>=', '>', '==', '!=']);
const RESERVED: ReadonlySet<string> = new Set(
  'as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

const isMacro = (name: string): name is MacroName => MACROS.some((macro) => macro === name);

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#tokens = tokensOf(text);
  }

  parse(): Expression {
    const found = this.#ternary();
    const { kind, at } = this.#token;
    if (kind !== 'end') throw new ExpressionError('unexpected text after the expression', at);
    return found;
  }

  get #token(): Token {
    return this.#tokens[Math.min(this.#at, this.#tokens.length - 1)] ?? { kind: 'end', at: 0 };
  }

  #accept(symbol: string): boolean {
    const token = this.#token;
    if (token.kind !== 'symbol' || token.text !== symbol) return false;
    this.#at += 1;
    return true;
  }

  #expect(symbol: string): void {
    if (!this.#accept(symbol)) throw new ExpressionError(`expected "${symbol}"`, this.#token.at);
  }

  /** Runs a rule that nests. */
  #nested<T>(rule: () => T): T {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new ExpressionError('nested too deeply', this.#token.at);
    const found = rule();
    this.#depth -= 1;
    return found;
  }

  #ternary(): Expression {
    return this.#nested(() => {
      const { at } = this.#token;
      const condition = this.#balanced('||', () => this.#balanced('&&', () => this.#relation()));
      if (!this.#accept('?')) return condition;
      const yes = this.#balanced('||', () => this.#balanced('&&', () => this.#relation()));
      this.#expect(':');
      return call('?:', [condition, yes, this.#ternary()], at);
    });
  }

  /** A chain of one operator, as a tree that is not deeper than needed. */
  #balanced(symbol: string, operand: () => Expression): Expression {
    const { at } = this.#token;
    const terms = [operand()];
    while (this.#accept(symbol)) terms.push(operand());
    const join = (from: number, to: number): Expression => {
      const first = terms[from];
      if (to - from === 1 && first !== undefined) return first;
      const middle = from + Math.ceil((to - from) / 2);
      return call(symbol, [join(from, middle), join(middle, to)], at);
    };
    return join(0, terms.length);
  }

  #leftward(operand: () => Expression, isOperator: (token: Token) => string | undefined): Expression {
    let left = operand();
    for (let depth = 0; ; depth += 1) {
      const token = this.#token;
      const name = isOperator(token);
      if (name === undefined) return left;
      if (depth > MAX_DEPTH) throw new ExpressionError('too many operators in a row', token.at);
      this.#at += 1;
      left = call(name, [left, operand()], token.at);
    }
  }

  #relation(): Expression {
    return this.#leftward(
      () => this.#sum(),
      (token) => {
        if (token.kind === 'name' && token.text === 'in') return 'in';
        return token.kind === 'symbol' && RELATIONS.has(token.text) ? token.text : undefined;
      },
    );
  }

  #sum(): Expression {
    return this.#leftward(
      () => this.#product(),
      (token) => (token.kind === 'symbol' && '+-'.includes(token.text) ? token.text : undefined),
    );
  }

  #product(): Expression {
    return this.#leftward(
      () => this.#unary(),
      (token) => (token.kind === 'symbol' && '*/%'.includes(token.text) ? token.text : undefined),
    );
  }

  #unary(): Expression {
    return this.#nested(() => {
      const { at } = this.#token;
      if (this.#accept('!')) return call('!', [this.#unary()], at);
      if (this.#accept('-')) {
        const operand = this.#unary();
        if (operand.kind !== 'constant') return call('-', [operand], at);
        return negated(operand, at);
      }
      return this.#member();
    });
  }

  #member(): Expression {
    let operand = this.#primary();
    for (let depth = 0; ; depth += 1) {
      const { at } = this.#token;
      if (depth > MAX_DEPTH) throw new ExpressionError('too many selections in a row', at);
      if (this.#accept('.')) operand = this.#selection(operand, at);
      else if (this.#accept('[')) {
        const index = this.#ternary();
        this.#expect(']');
        operand = call('[]', [operand, index], at);
      } else return operand;
    }
  }

  #selection(operand: Expression, at: number): Expression {
    const token = this.#token;
    if (token.kind !== 'name') throw new ExpressionError('expected the name of a field', token.at);
    this.#at += 1;
    if (!this.#accept('(')) return { kind: 'select', operand, field: token.text, test: false, at };
    const args = this.#arguments(')');
    if (isMacro(token.text)) return macroOf(token.text, operand, args, at);
    return { kind: 'call', name: token.text, args: [operand, ...args], member: true, at };
  }

  #arguments(end: string): readonly Expression[] {
    const args: Expression[] = [];
    if (this.#accept(end)) return args;
    do {
      if (args.length > 0 && end !== ')' && this.#accept(end)) return args;
      args.push(this.#ternary());
    } while (this.#accept(','));
    this.#expect(end);
    return args;
  }

  #primary(): Expression {
    const token = this.#token;
    const { at } = token;
    if (token.kind === 'constant') {
      this.#at += 1;
      return { kind: 'constant', value: token.value, at };
    }
    if (this.#accept('(')) {
      const inner = this.#ternary();
      this.#expect(')');
      return inner;
    }
    if (this.#accept('[')) return { kind: 'list', items: this.#arguments(']'), at };
    if (this.#accept('{')) return { kind: 'map', entries: this.#entries(), at };
    if (token.kind !== 'name') throw new ExpressionError('expected an expression', at);
    this.#at += 1;
    return this.#named(token.text, at);
  }

  #named(name: string, at: number): Expression {
    if (name === 'true' || name === 'false')
      return { kind: 'constant', value: { type: 'bool', value: name === 'true' }, at };
    if (name === 'null') return { kind: 'constant', value: { type: 'null' }, at };
    if (name === 'in' || RESERVED.has(name)) throw new ExpressionError(`${name} is a reserved word`, at);
    if (!this.#accept('(')) return { kind: 'name', name, at };
    const args = this.#arguments(')');
    if (name !== 'has') return { kind: 'call', name, args, member: false, at };
    const [field, ...more] = args;
    if (field?.kind !== 'select' || more.length > 0)
      throw new ExpressionError('has() takes one selection of a field', at);
    return { ...field, test: true };
  }

  #entries(): readonly (readonly [Expression, Expression])[] {
    const entries: (readonly [Expression, Expression])[] = [];
    while (!this.#accept('}')) {
      if (entries.length > 0) {
        this.#expect(',');
        if (this.#accept('}')) break;
      }
      const key = this.#ternary();
      this.#expect(':');
      entries.push([key, this.#ternary()]);
    }
    return entries;
  }
}

const call = (name: string, args: readonly Expression[], at: number): Expression => ({
  kind: 'call',
  name,
  args,
  member: false,
  at,
});

const MOST_INT = 2n ** 63n - 1n;

function negated(operand: Extract<Expression, { readonly kind: 'constant' }>, at: number): Expression {
  const { value } = operand;
  if (value.type === 'int') return { kind: 'constant', value: { type: 'int', value: -value.value }, at };
  if (value.type === 'double')
    return { kind: 'constant', value: { type: 'double', value: -value.value }, at };
  return call('-', [operand], at);
}

function macroOf(macro: MacroName, range: Expression, args: readonly Expression[], at: number): Expression {
  const [variable, ...steps] = args;
  const isWhole = steps.length === 1 || (macro === 'map' && steps.length === 2);
  if (variable?.kind !== 'name' || !isWhole)
    throw new ExpressionError(`${macro}() takes the name of a variable and an expression`, at);
  return { kind: 'macro', macro, range, variable: variable.name, steps, at };
}

/** @throws ExpressionError */
export function parseExpression(text: string): Expression {
  const found = new Parser(text).parse();
  checkNumbers(found);
  return found;
}

/** Rejects the number that only a minus makes representable. */
function checkNumbers(expression: Expression): void {
  switch (expression.kind) {
    case 'constant':
      if (expression.value.type === 'int' && expression.value.value > MOST_INT)
        throw new ExpressionError('the number is too large', expression.at);
      return;
    case 'name':
      return;
    case 'select':
      checkNumbers(expression.operand);
      return;
    case 'call':
      expression.args.forEach(checkNumbers);
      return;
    case 'list':
      expression.items.forEach(checkNumbers);
      return;
    case 'map':
      expression.entries.flat().forEach(checkNumbers);
      return;
    case 'macro':
      [expression.range, ...expression.steps].forEach(checkNumbers);
      return;
    default:
      expression satisfies never;
  }
}
