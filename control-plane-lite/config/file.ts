/** Reads the configuration file: each setting is a field. Source: the file of `--config`. */
import { readFileSync } from 'node:fs';
import { TextSyntaxError } from '#api/codec/limits.ts';
import { parseYaml } from '#api/codec/yaml.ts';
import { errorCode } from '#api/kit/errno.ts';
import { isObject } from '#api/kit/object.ts';
import { suggestion } from '#api/kit/text/suggest.ts';
import { formatFieldError } from '#api/meta/field-error.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { Setting } from './groups/setting.ts';
import { IGNORED_FLAGS } from './ignored.ts';
import { readField } from './values.ts';

/** Values by the key of their setting. */
export interface FileSettings {
  readonly values: ReadonlyMap<string, unknown>;
  /** Flags without effect that the file sets, with their value. */
  readonly inVain: ReadonlyMap<string, unknown>;
  readonly problems: readonly string[];
}

const KIND = 'ControlPlaneConfiguration';
export const CONFIG_VERSIONS: readonly string[] = Object.values(VOCABULARIES).map(
  ({ apiGroupDomain }) => `controlplane.config.${apiGroupDomain}/v1alpha1`,
);

/** Larger than any configuration. */
const MAX_BYTES = 1024 * 1024;

/** `goaway-chance` is the field goawayChance. */
export const fieldOf = (flag: string): string =>
  flag.replaceAll(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

const IGNORED_FIELDS: ReadonlyMap<string, string> = new Map(
  [...IGNORED_FLAGS.keys()].map((flag) => [fieldOf(flag), flag]),
);

const failed = (problem: string): FileSettings => ({
  values: new Map(),
  inVain: new Map(),
  problems: [problem],
});

function reasonOf(error: unknown): string {
  const code = errorCode(error);
  if (code === 'ENOENT') return 'there is no such file';
  if (code === 'EISDIR') return 'is a directory; name the file in it';
  if (code === 'EACCES') return 'is not readable by this user';
  return error instanceof Error ? error.message : String(error);
}

function documentOf(text: string, file: string): Readonly<Record<string, unknown>> | string {
  let documents;
  try {
    documents = parseYaml(text, { maxBytes: MAX_BYTES }).filter(({ empty }) => !empty);
  } catch (thrown) {
    if (!(thrown instanceof TextSyntaxError)) throw thrown;
    return `${file}: line ${thrown.line}, column ${thrown.column}: ${thrown.message}`;
  }
  const [document, ...more] = documents;
  if (document === undefined) return `${file}: the file is empty; write apiVersion, kind and settings`;
  if (more.length > 0) return `${file}: has several documents; write all settings into one`;
  const [error] = document.errors;
  if (error !== undefined) return `${file}: ${formatFieldError(error)}`;
  return isObject(document.value)
    ? document.value
    : `${file}: must be an object with a field for each setting`;
}

function headProblem(
  file: string,
  { apiVersion, kind }: Readonly<Record<string, unknown>>,
): readonly string[] {
  const problems: string[] = [];
  if (typeof apiVersion !== 'string' || !CONFIG_VERSIONS.includes(apiVersion)) {
    problems.push(
      `${file}: apiVersion: ${JSON.stringify(apiVersion ?? '')} is none of ${CONFIG_VERSIONS.join(', ')}`,
    );
  }
  if (kind !== KIND) problems.push(`${file}: kind: ${JSON.stringify(kind ?? '')} is not ${KIND}`);
  return problems;
}

/** Reads the settings of a document. */
export function readDocument(
  document: Readonly<Record<string, unknown>>,
  file: string,
  settings: ReadonlyMap<string, Setting>,
): FileSettings {
  const problems = [...headProblem(file, document)];
  const values = new Map<string, unknown>();
  const inVain = new Map<string, unknown>();
  for (const [field, value] of Object.entries(document)) {
    if (field === 'apiVersion' || field === 'kind') continue;
    const ignoredFlag = IGNORED_FIELDS.get(field);
    const setting = settings.get(field);
    if (ignoredFlag !== undefined) inVain.set(ignoredFlag, value);
    else if (setting === undefined) {
      const known = [...settings.keys(), ...IGNORED_FIELDS.keys()];
      problems.push(`${file}: ${field}: unknown field${suggestion(field, known)}`);
    } else {
      const read = readField(setting, value, `${file}: ${field}`);
      if ('problem' in read) problems.push(read.problem);
      else values.set(field, read.value);
    }
  }
  return { values, inVain, problems };
}

/** Reads the file. @param settings all that a file may contain, by key */
export function readConfigFile(file: string, settings: ReadonlyMap<string, Setting>): FileSettings {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (thrown) {
    return failed(`--config: ${file}: ${reasonOf(thrown)}`);
  }
  const document = documentOf(text, file);
  return typeof document === 'string' ? failed(document) : readDocument(document, file, settings);
}
