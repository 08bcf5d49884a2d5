/** Reader of the configuration file: YAML or JSON, one document; reports all errors at once.
 *  Source: configuration file, document 3 §4.3; `data/nodeagent-config.json`. */
import { dirname, isAbsolute, resolve } from 'node:path';
import { parseDocuments } from '#api/codec/documents.ts';
import { nearest } from '#api/kit/text/suggest.ts';
import { canonicalApiVersion, UPSTREAM_CONFIG_KIND, VOCABULARIES } from '#api/vocabulary.ts';
import { type ConfigError, placeError } from './errors.ts';
import {
  isEmptyDefault,
  isLaterValue,
  isOtherGate,
  laterField,
  otherReleaseWarning,
} from './other-releases.ts';
import type { ConfigValue } from './reader.ts';
import type { Setting } from './setting.ts';
import { FLAG_BY_NAME, SETTING_BY_KEY, SETTINGS } from './table.ts';
import { canonicalField, canonicalFlag, upstreamField } from './upstream.ts';
import { checkValue } from './values/check.ts';
import { asMapping, describeType } from './values/parsed.ts';
import { readFileValue } from './values/read.ts';

/** Maximum size of the file, in bytes. */
const MAX_FILE_BYTES = 1024 * 1024;

export interface FileValue {
  readonly value: ConfigValue;
  /** Path as spelled in the file. */
  readonly path: string;
}

export interface FileValues {
  readonly file: string;
  readonly values: ReadonlyMap<string, FileValue>;
  /** Keys of settings with an invalid field. */
  readonly faulty: ReadonlySet<string>;
  readonly errors: readonly ConfigError[];
  /** Fields and gates of other releases in the file. */
  readonly warnings: readonly string[];
}

const FILE_SETTINGS = SETTINGS.filter(({ inFile }) => inFile === true);
const FILE_PATHS: readonly string[] = FILE_SETTINGS.flatMap(({ key }) => [key, upstreamField(key) ?? key]);

/** Paths with nested fields: `authentication`, `authentication.webhook`… */
const SECTIONS: ReadonlySet<string> = new Set(
  FILE_SETTINGS.flatMap(({ key }) => {
    const parts = key.split('.').slice(0, -1);
    return parts.map((_, index) => parts.slice(0, index + 1).join('.'));
  }),
);

const CONFIG_API_VERSION = `${VOCABULARIES.plat.configApiGroup}/v1beta1`;

function checkType(root: Readonly<Record<string, unknown>>): readonly ConfigError[] {
  const { kind, apiVersion } = root;
  const errors: ConfigError[] = [];
  const check = (field: string, value: unknown, right: boolean, wanted: string): void => {
    if (right) return;
    const detail = `must be ${wanted}`;
    if (value === undefined || value === null) errors.push({ kind: 'FieldValueRequired', field, detail });
    else errors.push({ kind: 'FieldValueNotSupported', field, badValue: value, detail });
  };
  const kinds: readonly unknown[] = [VOCABULARIES.plat.configKind, UPSTREAM_CONFIG_KIND];
  check('kind', kind, kinds.includes(kind), VOCABULARIES.plat.configKind);
  const version = typeof apiVersion === 'string' ? canonicalApiVersion(apiVersion) : undefined;
  check('apiVersion', apiVersion, version === CONFIG_API_VERSION, CONFIG_API_VERSION);
  return errors;
}

/** Returns the error of an unknown field. */
function unknownField(path: string): ConfigError {
  const setting = SETTING_BY_KEY.get(path);
  const entry = FLAG_BY_NAME.get(canonicalFlag(path));
  let detail = 'no such field';
  if (setting?.flags[0] !== undefined) detail = `only a flag can set this: --${setting.flags[0].name}`;
  else if (entry?.setting.inFile === true) detail = `the field of --${path} is ${entry.setting.key}`;
  else {
    const found = nearest(path, [...FILE_PATHS, ...SECTIONS]);
    if (found !== undefined) detail = `no such field; did you mean ${found}?`;
  }
  return { kind: 'FieldUnknown', field: path, detail };
}

interface Leaf {
  readonly setting: Setting;
  readonly path: string;
  readonly raw: unknown;
}

interface Walk {
  readonly leaves: readonly Leaf[];
  /** Fields of later releases. */
  readonly later: readonly string[];
  readonly errors: readonly ConfigError[];
}

/** Collects the fields below a mapping. A null field counts as absent. */
function walk(mapping: Readonly<Record<string, unknown>>, prefix: string): Walk {
  const leaves: Leaf[] = [];
  const later: string[] = [];
  const errors: ConfigError[] = [];
  for (const [name, raw] of Object.entries(mapping)) {
    const path = prefix === '' ? name : `${prefix}.${name}`;
    const setting = SETTING_BY_KEY.get(canonicalField(path));
    if (setting?.inFile === true) {
      if (isLaterValue(setting.key, raw)) later.push(path);
      else if (raw !== null && !isEmptyDefault(setting.key, raw)) leaves.push({ setting, path, raw });
    } else if (SECTIONS.has(path)) {
      const below = asMapping(raw);
      if (below === undefined && raw !== null) {
        const detail = `must be a mapping, not ${describeType(raw)}`;
        errors.push({ kind: 'FieldValueTypeInvalid', field: path, badValue: raw, detail });
      }
      const found = walk(below ?? {}, path);
      leaves.push(...found.leaves);
      later.push(...found.later);
      errors.push(...found.errors);
    } else if (laterField(path) !== undefined) later.push(path);
    else errors.push(unknownField(path));
  }
  return { leaves, later, errors };
}

const GATES_KEY = 'featureGates';

const otherGates = (fields: Readonly<Record<string, unknown>>): readonly string[] =>
  Object.keys(asMapping(fields[GATES_KEY]) ?? {}).filter(isOtherGate);

function withoutOtherGates(leaf: Leaf): Leaf {
  const gates = leaf.setting.key === GATES_KEY ? asMapping(leaf.raw) : undefined;
  if (gates === undefined) return leaf;
  const ours = Object.entries(gates).filter(([name]) => !isOtherGate(name));
  return { ...leaf, raw: Object.fromEntries(ours) };
}

function absolute(setting: Setting, value: ConfigValue, file: string): ConfigValue {
  if (setting.isPath === undefined || value.shape !== 'text' || value.value === '') return value;
  if (isAbsolute(value.value)) return value;
  return { shape: 'text', value: resolve(dirname(file), value.value) };
}

function readLeaves(file: string, leaves: readonly Leaf[]): Omit<FileValues, 'warnings'> {
  const values = new Map<string, FileValue>();
  const faulty = new Set<string>();
  const errors: ConfigError[] = [];
  for (const { setting, path, raw } of leaves) {
    const earlier = values.get(setting.key);
    if (earlier !== undefined) {
      const detail = `duplicates ${earlier.path} in another spelling; specify it once`;
      errors.push({ kind: 'FieldValueDuplicate', field: path, file, detail });
    }
    const parsed = readFileValue(setting, raw);
    const fieldErrors = parsed.kind === 'ok' ? checkValue(setting, parsed.value) : parsed.errors;
    errors.push(...fieldErrors.map((fieldError) => placeError(setting, fieldError, { field: path, file })));
    if (parsed.kind === 'errors' || fieldErrors.length > 0) faulty.add(setting.key);
    else values.set(setting.key, { value: absolute(setting, parsed.value, file), path });
  }
  return { file, values, faulty, errors };
}

/** Reads the text of a configuration file; `file` is its absolute path. Never throws for invalid content. */
export function readConfigFile(text: string | Uint8Array, file: string): FileValues {
  const none = (errors: readonly ConfigError[]): FileValues => ({
    file,
    values: new Map(),
    faulty: new Set(),
    warnings: [],
    errors: errors.map((error) => ({ ...error, file })),
  });
  const documents = parseDocuments(text, { maxBytes: MAX_FILE_BYTES });
  const [document, second] = documents;
  if (document === undefined) {
    return none([{ kind: 'FieldValueRequired', field: 'kind', detail: 'the file has no document' }]);
  }
  const fieldErrors: ConfigError[] = [...document.errors];
  if (second !== undefined) {
    const detail = `the file has ${documents.length} documents, the second at line ${second.line}; specify one`;
    fieldErrors.push({ kind: 'FieldValueTooMany', field: `document ${second.number}`, detail });
  }
  if (document.value === undefined) return none(fieldErrors);
  const root = asMapping(document.value);
  if (root === undefined) {
    const detail = `the file must hold a mapping, not ${describeType(document.value)}`;
    return none([...fieldErrors, { kind: 'FieldValueTypeInvalid', field: 'document 1', detail }]);
  }
  const { kind: _kind, apiVersion: _apiVersion, ...fields } = root;
  const found = walk(fields, '');
  const gates = otherGates(fields);
  const read = readLeaves(file, found.leaves.map(withoutOtherGates));
  const warning = otherReleaseWarning(file, found.later, gates);
  const own = none([...fieldErrors, ...checkType(root), ...found.errors]).errors;
  return { ...read, errors: [...own, ...read.errors], warnings: warning === undefined ? [] : [warning] };
}
