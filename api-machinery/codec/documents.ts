/** Parser of manifest texts into documents: JSON (one value or several in a row) or YAML, distinguished by
 *  content. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FieldError } from '../meta/field-error.ts';
import { parseJsonStream } from './json.ts';
import { DEFAULT_TEXT_LIMITS, positionOf, type TextLimits, TextSyntaxError } from './limits.ts';
import { syntaxError, type YamlDocument, yamlSteps } from './yaml.ts';

export interface ParsedDocument {
  /** 1-based number among the text's documents, empty ones counted: '1', '2'… */
  readonly number: string;
  /** 1-based line on which it starts. */
  readonly line: number;
  /** Absent where the document cannot be parsed. */
  readonly value?: unknown;
  readonly errors: readonly FieldError[];
}

export type ParseOptions = Partial<TextLimits>;

/** Work between two turns of the event loop. */
const TURN_MS = 5;

const failed = (detail: string, line = 1, column = 1): ParsedDocument => ({
  number: '1',
  line,
  errors: [syntaxError(line, column, detail)],
});

// oxlint-disable-next-line no-control-regex -- matches the characters that no manifest may contain
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;

/** Returns the text of a manifest's bytes, or the error. */
function readText(input: string | Uint8Array, maxBytes: number): string | ParsedDocument {
  const size = typeof input === 'string' ? Buffer.byteLength(input) : input.byteLength;
  if (size > maxBytes) return failed(`manifest has ${size} bytes, at most ${maxBytes} are read`);
  let text = '';
  try {
    text = typeof input === 'string' ? input : new TextDecoder('utf-8', { fatal: true }).decode(input);
  } catch {
    return failed('manifest is not text (invalid UTF-8)');
  }
  const offset = text.search(CONTROL);
  if (offset >= 0) {
    const { line, column } = positionOf(text, offset);
    const code = text.charCodeAt(offset).toString(16).padStart(4, '0');
    return failed(`manifest is not text (control character U+${code})`, line, column);
  }
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

/** Returns JSON documents; `undefined` if the text is not JSON but may be YAML in flow style. */
function parseAsJson(text: string, options: ParseOptions): readonly ParsedDocument[] | undefined {
  try {
    return parseJsonStream(text, options).map(({ value, line, errors }, index) => ({
      number: String(index + 1),
      line,
      value,
      errors,
    }));
  } catch (error) {
    if (!(error instanceof TextSyntaxError)) throw error;
    // Only a text that starts exactly like JSON is reported as broken JSON.
    if (!/^\s*[{[]\s*(["{[\]}]|$)/.test(text) || /^---/m.test(text)) return undefined;
    return [failed(`not valid JSON: ${error.message}`, error.line, error.column)];
  }
}

/** Yields documents as they are parsed, and `undefined` between steps of work. Never throws. */
function* documentSteps(
  input: string | Uint8Array,
  options: ParseOptions,
): Generator<ParsedDocument | undefined, void> {
  const text = readText(input, options.maxBytes ?? DEFAULT_TEXT_LIMITS.maxBytes);
  if (typeof text !== 'string') {
    yield text;
    return;
  }
  const json = /^\s*[{[]/.test(text) ? parseAsJson(text, options) : undefined;
  if (json === undefined) yield* yamlDocumentSteps(text, options);
  else yield* json;
}

function* yamlDocumentSteps(
  text: string,
  options: ParseOptions,
): Generator<ParsedDocument | undefined, void> {
  let number = 0;
  try {
    for (const step of yamlSteps(text, options)) {
      if (step !== undefined) number += 1;
      yield step === undefined || step.empty ? undefined : yamlResult(step, number);
    }
  } catch (error) {
    if (!(error instanceof TextSyntaxError)) throw error;
    yield { ...failed(error.message, error.line, error.column), number: String(number + 1) };
  }
}

function yamlResult(document: YamlDocument, number: number): ParsedDocument {
  const { line, value, errors } = document;
  return { number: String(number), line, errors, ...(value === undefined ? {} : { value }) };
}

/** Returns every document of a manifest that has content, with all parse errors; never throws because of the
 *  text. A text beyond the limits is one document with an error. Takes about 1 s per MB of YAML: for texts of
 *  unknown size use `parseDocumentsInTurns`. */
export function parseDocuments(
  input: string | Uint8Array,
  options: ParseOptions = {},
): readonly ParsedDocument[] {
  return [...documentSteps(input, options)].filter((step) => step !== undefined);
}

/** Like `parseDocuments`, but yields to the event loop every few milliseconds.
 *  @throws the signal's reason when it fires */
export async function parseDocumentsInTurns(
  input: string | Uint8Array,
  signal: AbortSignal,
  options: ParseOptions = {},
): Promise<readonly ParsedDocument[]> {
  signal.throwIfAborted();
  const documents: ParsedDocument[] = [];
  let turnStart = performance.now();
  for (const step of documentSteps(input, options)) {
    if (step !== undefined) documents.push(step);
    if (performance.now() - turnStart < TURN_MS) continue;
    await nextTurn(undefined, { signal });
    turnStart = performance.now();
  }
  return documents;
}
