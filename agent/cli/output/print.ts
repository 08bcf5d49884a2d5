/** Prints objects in the formats of `-o`. */
import '#api/kit/exact-json.ts';
import type { Output } from '../context.ts';
import { formatTable } from '../views/table.ts';
import { customRow } from './custom-columns.ts';
import { renderTemplate } from './jsonpath-template.ts';
import type { ObjectFormat } from './output-format.ts';

export interface ShownObject {
  readonly kind?: string | undefined;
  readonly metadata?: { readonly name?: string };
}

export interface PrintOptions {
  /** One object was requested by name: print it as it is, not as a list. */
  readonly single: boolean;
  readonly headings: boolean;
}

/** Prints a single object as it is, several as a list. */
export async function printObjects(
  out: Output,
  format: ObjectFormat,
  objects: readonly ShownObject[],
  { single, headings }: PrintOptions,
): Promise<void> {
  if (format.kind === 'name') {
    await out.write(objects.map((object) => `${shortName(object)}\n`).join(''));
    return;
  }
  if (format.kind === 'custom-columns') {
    const { columns } = format;
    const rows = objects.map((object) => customRow(columns, object));
    const table = formatTable(
      columns.map(({ heading }) => heading),
      rows,
    );
    await out.write(headings ? table : table.slice(table.indexOf('\n') + 1));
    return;
  }
  const [first] = objects;
  const list = { apiVersion: 'v1', kind: 'List', metadata: {}, items: objects };
  await printData(out, format, single && first !== undefined ? first : list);
}

/** Prints a value in a format for programs. */
export async function printData(out: Output, format: ObjectFormat, value: unknown): Promise<void> {
  if (format.kind === 'jsonpath') {
    await out.write(renderTemplate(format.template, value));
  } else if (format.kind === 'yaml') {
    const { formatYaml } = await import('#api/codec/yaml.ts');
    await out.write(formatYaml(value));
  } else {
    await out.write(`${JSON.stringify(value, undefined, 2)}\n`);
  }
}

/** `pod/web` */
export const shortName = ({ kind = '', metadata }: ShownObject): string =>
  `${kind.toLowerCase()}/${metadata?.name ?? ''}`;
