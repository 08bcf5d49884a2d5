/** Prints API objects in the formats of `-o`. */
import type { Output } from '../context.ts';

export const OBJECT_FORMATS = ['wide', 'json', 'yaml', 'name'] as const;
export type ObjectFormat = (typeof OBJECT_FORMATS)[number];

export interface ShownObject {
  readonly kind?: string | undefined;
  readonly metadata?: { readonly name?: string };
}

/** Prints a single object as it is, several as a list. */
export async function printObjects(
  out: Output,
  format: Exclude<ObjectFormat, 'wide'>,
  objects: readonly ShownObject[],
  single: boolean,
): Promise<void> {
  if (format === 'name') {
    await out.write(objects.map((object) => `${shortName(object)}\n`).join(''));
    return;
  }
  const [first] = objects;
  const value =
    single && first !== undefined ? first : { apiVersion: 'v1', kind: 'List', metadata: {}, items: objects };
  if (format === 'json') {
    await out.write(`${JSON.stringify(value, undefined, 2)}\n`);
    return;
  }
  const { formatYaml } = await import('#api/codec/yaml.ts');
  await out.write(formatYaml(value));
}

/** `pod/web` */
export const shortName = ({ kind = '', metadata }: ShownObject): string =>
  `${kind.toLowerCase()}/${metadata?.name ?? ''}`;
