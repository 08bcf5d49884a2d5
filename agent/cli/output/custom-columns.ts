/** Columns of `-o custom-columns=NAME:.metadata.name,…`. Pure. */

import type { JsonPath } from '#api/meta/json-path.ts';
import { JsonPathError } from '#api/meta/json-path-parser.ts';
import { parseRelaxedPath, valueText } from './jsonpath-template.ts';

export interface CustomColumn {
  readonly heading: string;
  readonly path: JsonPath;
}

const MAX_LENGTH = 16_384;

/** @throws JsonPathError */
export function parseCustomColumns(text: string): readonly CustomColumn[] {
  if (text.length > MAX_LENGTH) throw new JsonPathError(`columns have at most ${MAX_LENGTH} characters`);
  return splitColumns(text).map((part) => {
    const colon = part.indexOf(':');
    if (colon <= 0) throw new JsonPathError(`${JSON.stringify(part)} must have the form HEADING:PATH`);
    return { heading: part.slice(0, colon).trim(), path: parseRelaxedPath(part.slice(colon + 1)) };
  });
}

/** Splits at commas outside brackets. */
function splitColumns(text: string): readonly string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '[') depth += 1;
    else if (character === ']') depth = Math.max(0, depth - 1);
    else if (character === ',' && depth === 0) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, text.slice(start)];
}

/** Returns the cells of one object; `<none>` for a path without a value. */
export const customRow = (columns: readonly CustomColumn[], object: unknown): readonly string[] =>
  columns.map(({ path }) => Array.from(path.find(object), valueText).join(',') || '<none>');
