/** Decodes the configuration of registry credential plugins (`--image-credential-provider-config`). Pure.
 *  Spec: CredentialProviderConfig in the agent's configuration group, versions v1alpha1, v1beta1 and v1. */
import { isObject } from '#api/kit/object.ts';
import { DurationError, parseDuration } from '#api/meta/duration.ts';
import type { FieldError, FieldErrorKind } from '#api/meta/field-error.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { matchPatternError } from './credentials.ts';

/** One plugin as configured. */
export interface CredentialProviderSpec {
  /** Name of its program in the plugin directory. */
  readonly name: string;
  /** Patterns of images for which the plugin is run. */
  readonly matchImages: readonly string[];
  /** Cache duration of a response without its own, in ms. */
  readonly defaultCacheMs: number;
  /** Protocol version, in the vocabulary of the file. */
  readonly apiVersion: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
}

export type CredentialProviderConfigResult =
  | { readonly kind: 'parsed'; readonly providers: readonly CredentialProviderSpec[] }
  | { readonly kind: 'invalid'; readonly errors: readonly FieldError[] };

type JsonObject = Readonly<Record<string, unknown>>;
type Report = (kind: FieldErrorKind, field: string, detail: string, badValue?: unknown) => void;

const VERSIONS = ['v1alpha1', 'v1beta1', 'v1'] as const;
const ALL_VOCABULARIES = Object.values(VOCABULARIES);
const CONFIG_VERSIONS = ALL_VOCABULARIES.flatMap((vocabulary) =>
  VERSIONS.map((v) => `${vocabulary.configApiGroup}/${v}`),
);
const PLUGIN_VERSIONS = ALL_VOCABULARIES.flatMap((vocabulary) =>
  VERSIONS.map((v) => `${vocabulary.credentialProviderApiGroup}/${v}`),
);
const CONFIG_KINDS = ALL_VOCABULARIES.map((vocabulary) => vocabulary.credentialProviderConfigKind);
const CONFIG_FIELDS = ['apiVersion', 'kind', 'providers'];
const PROVIDER_FIELDS = ['name', 'matchImages', 'defaultCacheDuration', 'apiVersion', 'args', 'env'];
const ENV_FIELDS = ['name', 'value'];
const NS_PER_MS = 1_000_000n;

function checkFields(object: JsonObject, known: readonly string[], path: string, report: Report): void {
  for (const name of Object.keys(object)) {
    const field = path === '' ? name : `${path}.${name}`;
    if (!known.includes(name)) report('FieldUnknown', field, `known fields are ${known.join(', ')}`);
  }
}

function readOneOf(value: unknown, allowed: readonly string[], field: string, report: Report): string {
  if (value === undefined || value === null || value === '') {
    report('FieldValueRequired', field, `one of ${allowed.join(', ')}`);
  } else if (typeof value !== 'string' || !allowed.includes(value)) {
    report('FieldValueNotSupported', field, `supported values: ${allowed.join(', ')}`, value);
  } else return value;
  return '';
}

function readStrings(value: unknown, field: string, report: Report): readonly string[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.every((item): item is string => typeof item === 'string')) return value;
  report('FieldValueTypeInvalid', field, 'must be a list of strings');
  return [];
}

function readName(value: unknown, field: string, report: Report): string {
  if (typeof value !== 'string' || value === '') {
    report('FieldValueRequired', field, 'name of the program in the plugin directory');
    return '';
  }
  const problem = value.includes('/')
    ? 'must not contain a path separator'
    : /\s/.test(value)
      ? 'must not contain spaces'
      : value === '.' || value === '..'
        ? 'must be the name of a program'
        : value.includes('\0')
          ? 'must not contain a NUL character'
          : undefined;
  if (problem !== undefined) report('FieldValueInvalid', field, problem, value);
  return value;
}

function readMatchImages(value: unknown, field: string, report: Report): readonly string[] {
  const patterns = readStrings(value, field, report);
  if (patterns.length === 0) report('FieldValueRequired', field, 'at least one pattern');
  for (const [index, pattern] of patterns.entries()) {
    const problem = matchPatternError(pattern);
    if (problem !== undefined) report('FieldValueInvalid', `${field}[${index}]`, problem, pattern);
  }
  return patterns;
}

function readDuration(value: unknown, field: string, report: Report): number {
  if (typeof value !== 'string') {
    report('FieldValueRequired', field, 'a duration such as 12h or 0s');
    return 0;
  }
  try {
    const durationMs = Number(parseDuration(value) / NS_PER_MS);
    if (durationMs < 0) report('FieldValueInvalid', field, 'must not be negative', value);
    return durationMs;
  } catch (thrown) {
    if (!(thrown instanceof DurationError)) throw thrown;
    report('FieldValueInvalid', field, 'must be a duration such as 12h or 0s', value);
    return 0;
  }
}

function readEnv(value: unknown, field: string, report: Report): CredentialProviderSpec['env'] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) {
    report('FieldValueTypeInvalid', field, 'must be a list of names and values');
    return [];
  }
  return value.map((item: unknown, index) => {
    const path = `${field}[${index}]`;
    const entry = isObject(item) ? item : {};
    checkFields(entry, ENV_FIELDS, path, report);
    const { name, value: text = '' } = entry;
    if (typeof name !== 'string' || !/^[^=\0]+$/.test(name)) {
      report('FieldValueRequired', `${path}.name`, 'name of a variable, without "="');
    }
    // Never quote the value: it may be secret.
    if (typeof text !== 'string') report('FieldValueTypeInvalid', `${path}.value`, 'must be a string');
    return { name: String(name), value: typeof text === 'string' ? text : '' };
  });
}

function readProvider(value: unknown, path: string, report: Report): CredentialProviderSpec {
  if (!isObject(value)) report('FieldValueTypeInvalid', path, 'must be an object');
  const provider = isObject(value) ? value : {};
  checkFields(provider, PROVIDER_FIELDS, path, report);
  return {
    name: readName(provider['name'], `${path}.name`, report),
    matchImages: readMatchImages(provider['matchImages'], `${path}.matchImages`, report),
    defaultCacheMs: readDuration(provider['defaultCacheDuration'], `${path}.defaultCacheDuration`, report),
    apiVersion: readOneOf(provider['apiVersion'], PLUGIN_VERSIONS, `${path}.apiVersion`, report),
    args: readStrings(provider['args'], `${path}.args`, report),
    env: readEnv(provider['env'], `${path}.env`, report),
  };
}

function readProviders(value: unknown, report: Report): readonly CredentialProviderSpec[] {
  if (!Array.isArray(value) || value.length === 0) {
    report('FieldValueRequired', 'providers', 'a list of at least one plugin');
    return [];
  }
  const providers = value.map((item: unknown, index) => readProvider(item, `providers[${index}]`, report));
  for (const [index, { name }] of providers.entries()) {
    const isRepeated = providers.findIndex((other) => other.name === name) < index;
    if (isRepeated && name !== '') {
      report('FieldValueDuplicate', `providers[${index}].name`, 'each plugin is listed once', name);
    }
  }
  return providers;
}

/** Decodes the parsed file; returns all errors at once. */
export function decodeCredentialProviderConfig(value: unknown): CredentialProviderConfigResult {
  const errors: FieldError[] = [];
  const report: Report = (kind, field, detail, badValue) =>
    void errors.push({ kind, field, detail, ...(badValue === undefined ? {} : { badValue }) });
  if (!isObject(value)) {
    report('FieldValueTypeInvalid', '', 'must be an object');
    return { kind: 'invalid', errors };
  }
  checkFields(value, CONFIG_FIELDS, '', report);
  readOneOf(value['apiVersion'], CONFIG_VERSIONS, 'apiVersion', report);
  readOneOf(value['kind'], CONFIG_KINDS, 'kind', report);
  const providers = readProviders(value['providers'], report);
  return errors.length > 0 ? { kind: 'invalid', errors } : { kind: 'parsed', providers };
}
