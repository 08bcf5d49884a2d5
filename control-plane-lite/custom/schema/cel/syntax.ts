/** Syntax tree of the expression language, and its errors. Source: CEL specification, langdef. */

export type Expression = { readonly at: number } & (
  | { readonly kind: 'constant'; readonly value: Constant }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'select'; readonly operand: Expression; readonly field: string; readonly test: boolean }
  | {
      readonly kind: 'call';
      readonly name: string;
      readonly args: readonly Expression[];
      readonly member: boolean;
    }
  | { readonly kind: 'list'; readonly items: readonly Expression[] }
  | { readonly kind: 'map'; readonly entries: readonly (readonly [Expression, Expression])[] }
  | {
      readonly kind: 'macro';
      readonly macro: MacroName;
      readonly range: Expression;
      readonly variable: string;
      /** The predicate, and the result of `map` if it has one. */
      readonly steps: readonly Expression[];
    }
);

export const MACROS = ['all', 'exists', 'exists_one', 'map', 'filter'] as const;
export type MacroName = (typeof MACROS)[number];

export type Constant =
  | { readonly type: 'null' }
  | { readonly type: 'bool'; readonly value: boolean }
  | { readonly type: 'int' | 'uint'; readonly value: bigint }
  | { readonly type: 'double'; readonly value: number }
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'bytes'; readonly value: Uint8Array };

/** A rule that cannot be used: its text, or the types in it. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';

  /** @param at offset in the rule */
  constructor(message: string, at: number) {
    super(`${message} (at character ${at + 1})`);
  }
}
