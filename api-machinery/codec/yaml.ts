/** YAML 1.2 (core schema) parser and formatter. Limits are enforced before the work that they bound.
 *  Parsing is a generator with a step every few tokens, so that a caller can yield to the event loop. */
import { Composer, type Document, Lexer, LineCounter, Parser, stringify } from 'yaml';
import type { FieldError } from '../meta/field-error.ts';
import { DEFAULT_TEXT_LIMITS, type TextLimits, TextSyntaxError } from './limits.ts';
import { convertYamlDocument } from './yaml-value.ts';

export interface YamlDocument {
  /** 1-based line on which the document's content starts. */
  readonly line: number;
  /** Absent where the document cannot be parsed. */
  readonly value?: unknown;
  /** True for a document that has no content at all, or only comments. */
  readonly empty: boolean;
  readonly errors: readonly FieldError[];
}

/** Returns an error with a position in the text instead of a field. */
export function syntaxError(line: number, column: number, detail: string): FieldError {
  return { kind: 'FieldValueInvalid', field: `line ${line}, column ${column}`, detail };
}

/** Returns only the sentence; the library appends the position and an excerpt of the line. */
const sentence = (message: string): string =>
  (message.split('\n')[0] ?? message).replace(/ at line \d+, column \d+:?$/, '');

function finishDocument(document: Document.Parsed, lines: LineCounter, limits: TextLimits): YamlDocument {
  const position = (offset: number): { line: number; column: number } => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const { line } = position(document.contents?.range?.[0] ?? document.range[0]);
  const fieldErrors = [...document.errors, ...document.warnings].map((fieldError) => {
    const at = position(fieldError.pos[0]);
    return syntaxError(at.line, at.column, sentence(fieldError.message));
  });
  if (fieldErrors.length > 0) return { line, empty: false, errors: fieldErrors };
  try {
    const { value, errors } = convertYamlDocument({ document, limits, position });
    return { line, value, empty: value === null || value === undefined, errors };
  } catch (error) {
    if (!(error instanceof TextSyntaxError)) throw error;
    return { line, empty: false, errors: [syntaxError(error.line, error.column, error.message)] };
  }
}

/** A step takes well under a millisecond. */
const LEXEMES_PER_STEP = 64;

/** Parses step by step: yields `undefined` between steps and a document when one is complete. Stops after a
 *  document that exceeds a limit.
 *  @throws TextSyntaxError if the text as a whole exceeds a limit */
export function* yamlSteps(
  text: string,
  options: Partial<TextLimits> = {},
): Generator<YamlDocument | undefined, void> {
  const limits = { ...DEFAULT_TEXT_LIMITS, ...options };
  if (Buffer.byteLength(text) > limits.maxBytes) {
    throw new TextSyntaxError(`text is larger than ${limits.maxBytes} bytes`, 1, 1);
  }
  const lines = new LineCounter();
  lines.addNewLine(0);
  const parser = new Parser(lines.addNewLine);
  // The converter reports duplicate keys: the library's own check takes quadratic time.
  const composer = new Composer({
    uniqueKeys: false,
    prettyErrors: false,
    resolveKnownTags: false,
    strict: true,
  });
  let documents = 0;
  let lexemes = 0;
  const count = (document: Document.Parsed): YamlDocument => {
    documents += 1;
    if (documents > limits.maxDocuments)
      throw new TextSyntaxError(`more than ${limits.maxDocuments} documents`, 1, 1);
    return finishDocument(document, lines, limits);
  };
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) {
      for (const document of composer.next(token)) yield count(document);
    }
    checkDepth(parser, lines, limits);
    lexemes += 1;
    if (lexemes % LEXEMES_PER_STEP === 0) yield undefined;
  }
  for (const token of parser.end()) {
    for (const document of composer.next(token)) yield count(document);
  }
  for (const document of composer.end()) yield count(document);
}

/** The composer is recursive: a document nested too deeply must not reach it. Two entries of the stack are
 *  one level. */
function checkDepth(parser: Parser, lines: LineCounter, limits: TextLimits): void {
  if (parser.stack.length <= 2 * limits.maxDepth + 8) return;
  const { line, col } = lines.linePos(parser.offset);
  throw new TextSyntaxError(
    `nested deeper than ${limits.maxDepth} levels`,
    Math.max(1, line),
    Math.max(1, col),
  );
}

/** Returns all documents of a text at once, empty ones included.
 *  @throws TextSyntaxError if the text as a whole exceeds a limit */
export function parseYaml(text: string, options: Partial<TextLimits> = {}): readonly YamlDocument[] {
  return [...yamlSteps(text, options)].filter((step) => step !== undefined);
}

/** Formats a human-readable YAML document: no anchors, no folded lines, and quotes around scalars that YAML
 *  1.1 would read as something else (`yes`, `0644`). */
export function formatYaml(value: unknown): string {
  return stringify(value, { aliasDuplicateObjects: false, lineWidth: 0, compat: 'yaml-1.1' });
}
