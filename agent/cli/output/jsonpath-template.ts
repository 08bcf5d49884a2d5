/** JSONPath templates of `-o jsonpath=`: text with `{…}` actions, as in upstream's command line. An action is a path
 *  (`{.items[*].metadata.name}`), a quoted text (`{"\n"}`), or the start or end of a loop (`{range .items[*]}`,
 *  `{end}`). Pure. */

import { type JsonPath, parseJsonPath } from '#api/meta/json-path.ts';
import { JsonPathError } from '#api/meta/json-path-parser.ts';

export type TemplateNode =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'path'; readonly path: TemplatePath }
  | { readonly kind: 'range'; readonly path: TemplatePath; readonly body: readonly TemplateNode[] };

export interface TemplatePath {
  readonly path: JsonPath;
  /** The path begins at the printed object, not at the element of the innermost loop. */
  readonly fromRoot: boolean;
}

/** Longer than any meaningful template. */
const MAX_LENGTH = 16_384;
/** Maximum nesting of loops. */
const MAX_DEPTH = 8;
/** Maximum number of values that one path or one template visits. */
const MAX_VISITS = 2_000_000;

interface OpenRange {
  readonly path: TemplatePath;
  readonly body: TemplateNode[];
}

/** @throws JsonPathError */
export function parseTemplate(text: string): readonly TemplateNode[] {
  if (text.length > MAX_LENGTH) throw new JsonPathError(`a template has at most ${MAX_LENGTH} characters`);
  const top: TemplateNode[] = [];
  const open: OpenRange[] = [];
  const add = (node: TemplateNode): void => void (open.at(-1)?.body ?? top).push(node);
  for (let at = 0; at < text.length; ) {
    const brace = text.indexOf('{', at);
    const end = brace < 0 ? text.length : brace;
    if (end > at) add({ kind: 'text', text: text.slice(at, end) });
    if (brace < 0) break;
    const close = actionEnd(text, brace + 1);
    const action = text.slice(brace + 1, close).trim();
    at = close + 1;
    if (/^range\s/.test(action)) {
      if (open.length >= MAX_DEPTH) throw new JsonPathError('loops are nested too deeply');
      open.push({ path: parsePath(action.slice('range'.length).trim()), body: [] });
    } else if (action === 'end') {
      const range = open.pop();
      if (range === undefined) throw new JsonPathError('{end} without {range …}');
      add({ kind: 'range', ...range });
    } else if (action.startsWith('"') || action.startsWith("'")) {
      add({ kind: 'text', text: literal(action) });
    } else {
      add({ kind: 'path', path: parsePath(action) });
    }
  }
  if (open.length > 0) throw new JsonPathError('{range …} without {end}');
  return top;
}

/** Returns the position of the closing brace; braces in quotes do not count. */
function actionEnd(text: string, from: number): number {
  let quote = '';
  for (let at = from; at < text.length; at += 1) {
    const character = text[at] ?? '';
    if (character === '\\') at += 1;
    else if (quote !== '') quote = character === quote ? '' : quote;
    else if (character === '"' || character === "'") quote = character;
    else if (character === '}') return at;
  }
  throw new JsonPathError(`"{" at character ${from} has no "}"`);
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['r', '\r'],
]);

function literal(action: string): string {
  const quote = action[0] ?? '';
  let text = '';
  for (let at = 1; at < action.length; at += 1) {
    const character = action[at] ?? '';
    if (character === quote) {
      if (at === action.length - 1) return text;
      break;
    }
    if (character === '\\') {
      at += 1;
      const escaped = action[at] ?? '';
      text += ESCAPES.get(escaped) ?? escaped;
    } else text += character;
  }
  throw new JsonPathError(`${action} is not a single quoted text`);
}

function parsePath(text: string): TemplatePath {
  const fromRoot = text.startsWith('$');
  const rest = fromRoot || text.startsWith('@') ? text.slice(1) : text;
  return { fromRoot, path: parseJsonPath(rest === '' ? '.' : rest) };
}

/** Returns the text of the template for a value. @throws JsonPathError when it visits too many values */
export function renderTemplate(nodes: readonly TemplateNode[], root: unknown): string {
  const parts: string[] = [];
  let visits = 0;
  const render = (body: readonly TemplateNode[], current: unknown): void => {
    for (const node of body) {
      if (node.kind === 'text') {
        parts.push(node.text);
        continue;
      }
      const found = node.path.path.find(node.path.fromRoot ? root : current, MAX_VISITS);
      let separator = '';
      for (const value of found) {
        visits += 1;
        if (visits > MAX_VISITS)
          throw new JsonPathError(`the template prints more than ${MAX_VISITS} values`);
        if (node.kind === 'range') render(node.body, value);
        else {
          parts.push(separator, valueText(value));
          separator = ' ';
        }
      }
    }
  };
  render(nodes, root);
  return parts.join('');
}

/** Formats a value as the command line prints it: text as it is, objects and lists as JSON. */
export function valueText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined ? '' : JSON.stringify(value);
}

/** Parses a path with or without braces and the leading dot: `{.metadata.name}`, `.metadata.name`, `metadata.name`.
 *  @throws JsonPathError */
export function parseRelaxedPath(text: string): JsonPath {
  const trimmed = text.trim();
  const inner = trimmed.startsWith('{') && trimmed.endsWith('}') ? trimmed.slice(1, -1).trim() : trimmed;
  const path = inner.startsWith('$') ? inner.slice(1) : inner;
  return parseJsonPath(path.startsWith('.') || path.startsWith('[') ? path : `.${path}`);
}
