/** Parses `-o`. Pure. */
import { JsonPathError } from '#api/meta/json-path-parser.ts';
import { UsageError } from '../errors.ts';
import { type CustomColumn, parseCustomColumns } from './custom-columns.ts';
import { parseTemplate, type TemplateNode } from './jsonpath-template.ts';

export type OutputFormat = { readonly kind: 'table'; readonly wide: boolean } | ObjectFormat;

/** A format that prints the objects instead of the table of the command. */
export type ObjectFormat =
  | { readonly kind: 'json' }
  | { readonly kind: 'yaml' }
  | { readonly kind: 'name' }
  | { readonly kind: 'jsonpath'; readonly template: readonly TemplateNode[] }
  | { readonly kind: 'custom-columns'; readonly columns: readonly CustomColumn[] };

/** Help text of the option. */
export const OUTPUT_HELP = 'wide, json, yaml, name, jsonpath=TEMPLATE or custom-columns=HEADING:PATH,…';

const EXPECTED = 'must be one of wide, json, yaml, name, jsonpath=TEMPLATE, custom-columns=HEADING:PATH,…';

/** @throws UsageError naming the accepted formats, or the place of a syntax error */
export function parseOutputFormat(text: string | undefined): OutputFormat {
  if (text === undefined) return { kind: 'table', wide: false };
  const equals = text.indexOf('=');
  const name = equals < 0 ? text : text.slice(0, equals);
  const value = equals < 0 ? '' : text.slice(equals + 1);
  try {
    switch (name) {
      case 'jsonpath':
        return { kind: 'jsonpath', template: parseTemplate(required(name, value, "'{.metadata.name}'")) };
      case 'custom-columns':
        return {
          kind: 'custom-columns',
          columns: parseCustomColumns(required(name, value, 'NAME:.metadata.name')),
        };
      case 'go-template':
      case 'go-template-file':
      case 'template':
        throw new UsageError(
          `--output: Go templates are not supported; use jsonpath, such as -o jsonpath='{range .items[*]}{.metadata.name}{"\\n"}{end}'`,
        );
      default:
        return plainFormat(text);
    }
  } catch (thrown) {
    if (thrown instanceof JsonPathError) {
      throw new UsageError(`--output: ${name}: ${thrown.message}`, { cause: thrown });
    }
    throw thrown;
  }
}

function plainFormat(text: string): OutputFormat {
  if (text === 'json' || text === 'yaml' || text === 'name') return { kind: text };
  if (text === 'wide') return { kind: 'table', wide: true };
  throw new UsageError(`--output: invalid value ${JSON.stringify(text)}: ${EXPECTED}`);
}

function required(name: string, value: string, example: string): string {
  if (value !== '') return value;
  throw new UsageError(`--output: ${name} requires a value: -o ${name}=${example}`);
}

/** Parses `-o` of a view that is not a list of objects. @throws UsageError */
export function parseDataFormat(text: string | undefined): ObjectFormat | undefined {
  const format = parseOutputFormat(text);
  if (format.kind === 'table' && !format.wide) return undefined;
  if (format.kind === 'json' || format.kind === 'yaml' || format.kind === 'jsonpath') return format;
  throw new UsageError(
    `--output: invalid value ${JSON.stringify(text)}: must be json, yaml or jsonpath=TEMPLATE`,
  );
}

/** Help text of the option of such views. */
export const DATA_HELP = 'json, yaml or jsonpath=TEMPLATE';
