/** Loads the admission configuration file: the configuration of each plugin is inline or in a file of its
 *  own. Source: `--admission-control-config-file`, document 2 §2.7 and §9. */
import { dirname, resolve } from 'node:path';
import type { Section } from '#api/client-config/fields.ts';
import { parseDocuments } from '#api/codec/documents.ts';
import { asError } from '#api/kit/errno.ts';
import { isMutableObject } from '#api/kit/object.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import {
  checkKind,
  type PluginConfig,
  PluginConfigError,
  type PluginConfigs,
  readPluginConfig,
} from './plugin-config.ts';

export interface LoadDeps {
  readonly readFile: (path: string) => Promise<string>;
}

/** Maximum file size in bytes. */
const MAX_BYTES = 1024 * 1024;

const KINDS = [
  { group: 'apiserver.config', version: 'v1', kind: 'AdmissionConfiguration' },
  { group: 'apiserver', version: 'v1alpha1', kind: 'AdmissionConfiguration' },
];

/** Plugins whose configuration may lack apiVersion and kind, as upstream. */
const OF_UNTYPED_FILES = ['ImagePolicyWebhook', 'PodNodeSelector'];

async function readValue({ readFile }: LoadDeps, file: string): Promise<unknown> {
  const fail = (errors: readonly FieldError[], cause?: unknown): never => {
    throw new PluginConfigError(file, errors, { cause });
  };
  let text: string;
  try {
    text = await readFile(file);
  } catch (thrown) {
    const detail = `cannot be read: ${asError(thrown).message}`;
    return fail([{ kind: 'FieldValueInvalid', field: '', detail }], thrown);
  }
  const [first, second] = parseDocuments(text, { maxBytes: MAX_BYTES });
  if (first === undefined)
    return fail([{ kind: 'FieldValueRequired', field: '', detail: 'the file is empty' }]);
  if (first.errors.length > 0) return fail(first.errors);
  if (second !== undefined) fail([{ kind: 'FieldValueTooMany', field: '', detail: 'must be one document' }]);
  return first.value;
}

/** Where the settings of a plugin are. */
type Place =
  | { readonly name: string; readonly config: PluginConfig }
  | { readonly name: string; readonly path: string };

function placeOf(section: Section, file: string, index: number): Place | undefined {
  const name = section.text('name');
  if (name === '') section.report('FieldValueRequired', 'name', 'the name of a plugin');
  const [path, value] = [section.text('path'), section.value('configuration')];
  if (value !== undefined && value !== null)
    return { name, config: { file, path: `plugins[${index}].configuration`, value } };
  return path === '' ? undefined : { name, path: resolve(dirname(file), path) };
}

function placesOf(section: Section, file: string): readonly Place[] {
  checkKind(section, KINDS);
  const seen = new Set<string>();
  return section.sections('plugins', ['name', 'path', 'configuration']).flatMap((each, index) => {
    const name = each.text('name');
    if (seen.has(name))
      each.report('FieldValueDuplicate', 'name', 'each plugin may be configured only once', name);
    seen.add(name);
    return placeOf(each, file, index) ?? [];
  });
}

/** Loads the settings of every plugin in the file. Without a file, there are none.
 *  @throws PluginConfigError with every error of the file, or of the first unreadable referenced file */
export async function loadPluginConfigs(file: string, deps: LoadDeps): Promise<PluginConfigs> {
  if (file === '') return new Map();
  const path = resolve(file);
  const value = await readValue(deps, path);
  if (isMutableObject(value) && value['kind'] === undefined && value['apiVersion'] === undefined) {
    return new Map(OF_UNTYPED_FILES.map((name) => [name, { file: path, path: '', value }]));
  }
  const root = { file: path, path: '', value };
  const places = readPluginConfig(root, ['apiVersion', 'kind', 'plugins'], (section) =>
    placesOf(section, path),
  );
  return new Map(
    await Promise.all(
      places.map(async (place) => {
        if ('config' in place) return [place.name, place.config] as const;
        const own = await readValue(deps, place.path);
        return [place.name, { file: place.path, path: '', value: own }] as const;
      }),
    ),
  );
}
