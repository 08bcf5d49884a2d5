/** Limits of the text codecs, and their syntax errors. */

export interface TextLimits {
  /** Size of the whole text in bytes of UTF-8. Default 3 MiB. */
  readonly maxBytes: number;
  /** Nesting of objects and lists. Default 100. */
  readonly maxDepth: number;
  /** Documents in one text. Default 1000. */
  readonly maxDocuments: number;
  /** How much larger aliases may make a document, in bytes and nodes together. Default 256 Ki. */
  readonly maxAliasGrowth: number;
}

export const DEFAULT_TEXT_LIMITS: TextLimits = {
  maxBytes: 3 * 1024 * 1024,
  maxDepth: 100,
  maxDocuments: 1000,
  maxAliasGrowth: 256 * 1024,
};

/** A syntax error of a text, with its position. */
export class TextSyntaxError extends Error {
  override readonly name = 'TextSyntaxError';
  readonly reason = 'InvalidSyntax';
  /** 1-based. */
  readonly line: number;
  /** 1-based, in UTF-16 units. */
  readonly column: number;
  constructor(detail: string, line: number, column: number, cause?: unknown) {
    super(detail, { cause });
    this.line = line;
    this.column = column;
  }
}

/** Returns the 1-based line and column of an offset. */
export function positionOf(text: string, offset: number): { readonly line: number; readonly column: number } {
  let line = 1;
  let start = 0;
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) {
    line += 1;
    start = at + 1;
  }
  return { line, column: offset - start + 1 };
}

export type PathElement = string | number;

/** Longer keys are truncated: there may be many errors, each with a path. */
const SHOWN_CHARACTERS = 256;
const shown = (key: string): string =>
  key.length > SHOWN_CHARACTERS ? `${key.slice(0, SHOWN_CHARACTERS)}…` : key;

/** `spec.containers[0].env`; keys that are not plain names are in brackets: `metadata.labels[app.io/name]`. */
export function formatPath(elements: readonly PathElement[]): string {
  let path = '';
  for (const element of elements) {
    const key = typeof element === 'number' ? element : shown(element);
    if (typeof key === 'string' && /^[A-Za-z_$][\w$-]*$/.test(key)) path += path === '' ? key : `.${key}`;
    else path += `[${key}]`;
  }
  return path;
}
