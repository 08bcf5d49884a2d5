/** Options shared by the commands that list objects. */
import type { JsonPath } from '#api/meta/json-path.ts';
import { JsonPathError } from '#api/meta/json-path-parser.ts';
import type { Arguments, OptionSpec } from '../args/arguments.ts';
import { UsageError } from '../errors.ts';
import { parseRelaxedPath } from '../output/jsonpath-template.ts';
import { OUTPUT_HELP, type OutputFormat, parseOutputFormat } from '../output/output-format.ts';
import type { SelectorTexts } from '../output/select.ts';

export type ListOptionName =
  | 'namespace'
  | 'all-namespaces'
  | 'selector'
  | 'field-selector'
  | 'output'
  | 'sort-by'
  | 'watch'
  | 'no-headers';

export const LIST_OPTIONS: Readonly<Record<ListOptionName, OptionSpec>> = {
  namespace: { type: 'string', short: 'n', value: 'NAME', help: 'only objects of this namespace' },
  'all-namespaces': {
    type: 'boolean',
    short: 'A',
    help: 'objects of all namespaces (the default without -n)',
  },
  selector: {
    type: 'string',
    short: 'l',
    value: 'SELECTOR',
    help: 'only objects with these labels: app=web,tier!=db',
  },
  'field-selector': {
    type: 'string',
    value: 'SELECTOR',
    help: 'only objects with these fields: status.phase=Running',
  },
  output: { type: 'string', short: 'o', value: 'FORMAT', help: OUTPUT_HELP },
  'sort-by': { type: 'string', value: 'PATH', help: 'sort by a field: .metadata.creationTimestamp' },
  watch: { type: 'boolean', short: 'w', help: 'pods and events only: then print each change' },
  'no-headers': { type: 'boolean', help: 'omit the headings' },
};

export interface ListOptions {
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined;
  readonly allNamespaces: boolean;
  readonly selectors: SelectorTexts;
  readonly format: OutputFormat;
  readonly sortBy: JsonPath | undefined;
  readonly watch: boolean;
  readonly headings: boolean;
}

/** @throws UsageError */
export function readListOptions(args: Arguments<ListOptionName>): ListOptions {
  const allNamespaces = args.has('all-namespaces');
  const options: ListOptions = {
    namespace: allNamespaces ? undefined : args.text('namespace'),
    allNamespaces,
    selectors: { labels: args.text('selector'), fields: args.text('field-selector') },
    format: parseOutputFormat(args.text('output')),
    sortBy: sortPath(args.text('sort-by')),
    watch: args.has('watch'),
    headings: !args.has('no-headers'),
  };
  if (options.watch && options.sortBy !== undefined) {
    throw new UsageError('use either --watch or --sort-by');
  }
  return options;
}

function sortPath(text: string | undefined): JsonPath | undefined {
  if (text === undefined) return undefined;
  try {
    return parseRelaxedPath(text);
  } catch (thrown) {
    if (thrown instanceof JsonPathError) {
      throw new UsageError(`--sort-by: ${thrown.message}`, { cause: thrown });
    }
    throw thrown;
  }
}
