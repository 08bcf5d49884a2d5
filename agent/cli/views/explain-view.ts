/** Formats the fields of a type for `nodeagent explain`. Pure. */
import { nearest } from '#api/kit/text/suggest.ts';
import { isRequired, type JsonField, jsonFields, shapeOf, type TypeName } from '#api/schema/registry.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { formatTable } from './table.ts';

const PACKAGES: Readonly<Record<string, string>> = {
  CSIDriver: `storage.${VOCABULARIES.plat.apiGroupDomain}/v1`,
};

/** A type text in the package that uses it. */
interface NodeType {
  readonly text: string;
  readonly packageName: string;
}

export type FoundNode =
  | { readonly kind: 'found'; readonly type: NodeType }
  | { readonly kind: 'unknown'; readonly message: string };

const structOf = ({ text, packageName }: NodeType): TypeName | undefined => {
  const shape = shapeOf(text, packageName);
  if (shape.kind === 'struct') return shape.name;
  return shape.kind === 'scalar' ? undefined : structOf({ text: shape.element, packageName });
};

/** Returns the type of a field path. */
export function findNode(kind: string, path: readonly string[]): FoundNode {
  let type: NodeType = { text: kind, packageName: PACKAGES[kind] ?? 'core/v1' };
  for (const [index, name] of path.entries()) {
    const struct = structOf(type);
    const fields = struct === undefined ? [] : jsonFields(struct);
    const field = fields.find(({ json }) => json === name);
    const place = [kind.toLowerCase(), ...path.slice(0, index)].join('.');
    if (field === undefined || struct === undefined) {
      const near = nearest(
        name,
        fields.map(({ json }) => json),
      );
      const hint = near === undefined ? '' : `; did you mean ${near}?`;
      return { kind: 'unknown', message: `${place} has no field ${JSON.stringify(name)}${hint}` };
    }
    type = { text: field.type, packageName: field.packageName };
  }
  return { kind: 'found', type };
}

/** Types may contain themselves. */
const MOST_DEPTH = 6;

export function explainFields(
  kind: string,
  path: readonly string[],
  type: NodeType,
  recursive: boolean,
): string {
  const heading = `${[kind.toLowerCase(), ...path].join('.')}  <${shownType(type.text)}>\n`;
  const struct = structOf(type);
  if (struct === undefined) return heading;
  const rows = fieldRows(struct, recursive ? MOST_DEPTH : 1, '');
  return `${heading}\n${formatTable(['FIELD', 'TYPE', 'NOTES'], rows)}`;
}

function fieldRows(struct: TypeName, depth: number, indent: string): readonly (readonly string[])[] {
  return jsonFields(struct).flatMap((field) => {
    const row = [`${indent}${field.json}`, shownType(field.type), notesOf(field)];
    const inner = structOf({ text: field.type, packageName: field.packageName });
    if (inner === undefined || depth <= 1) return [row];
    return [row, ...fieldRows(inner, depth - 1, `${indent}  `)];
  });
}

const MAP = 'map<string,';

/** Formats `[]Container` of a type text with its package. */
function shownType(text: string): string {
  if (text.startsWith('[]')) return `[]${shownType(text.slice(2))}`;
  if (text.startsWith(MAP)) return `${MAP}${shownType(text.slice(MAP.length, -1))}>`;
  return text.slice(text.lastIndexOf('.') + 1);
}

function notesOf(field: JsonField): string {
  const { enum: values, default: fallback, featureGate, patchMergeKey } = field;
  return [
    isRequired(field) ? 'required' : '',
    values === undefined ? '' : `one of ${values.join(', ')}`,
    fallback === undefined ? '' : `default ${JSON.stringify(fallback)}`,
    patchMergeKey === undefined ? '' : `merged by ${patchMergeKey}`,
    featureGate === undefined ? '' : `feature ${featureGate}`,
  ]
    .filter((note) => note !== '')
    .join('; ');
}
