/** Reads EncryptionConfiguration files. Pure.
 *  Source: EncryptionConfiguration of apiserver.config, version v1. Stricter than upstream: unknown members, names that
 *  occur twice and names with a colon are errors. */
import { Buffer } from 'node:buffer';
import { type Findings, openSection, type Section } from '#api/client-config/fields.ts';
import { parseDocuments } from '#api/codec/documents.ts';
import { parseDurationMs } from '#api/meta/duration.ts';
import { type FieldError, formatErrorDetail, formatFieldError } from '#api/meta/field-error.ts';

export interface KeyConfig {
  readonly name: string;
  readonly secret: Buffer;
}

export type LocalProvider = 'aescbc' | 'aesgcm' | 'secretbox';

export interface KmsConfig {
  readonly kind: 'kms';
  readonly version: 'v1' | 'v2';
  readonly name: string;
  /** Path of the socket. */
  readonly socket: string;
  readonly timeoutMs: number;
  /** Data keys that are cached; 0: none. */
  readonly cacheSize: number;
}

export type ProviderConfig =
  | { readonly kind: 'identity' }
  | { readonly kind: LocalProvider; readonly keys: readonly KeyConfig[] }
  | KmsConfig;

export interface ResourceRule {
  /** `secrets`, `deployments.apps`. */
  readonly resources: readonly string[];
  readonly providers: readonly ProviderConfig[];
}

/** A configuration that cannot be used, with every error found. */
export class EncryptionConfigError extends Error {
  override readonly name = 'EncryptionConfigError';
  readonly problems: readonly string[];
  constructor(file: string, details: readonly string[], options: ErrorOptions = {}) {
    const problems = details.map((detail) => `--encryption-provider-config: ${file}: ${detail}`);
    super(problems.join('\n'), options);
    this.problems = problems;
  }
}

const PROVIDERS = ['aescbc', 'aesgcm', 'identity', 'kms', 'secretbox'] as const;
const KMS_MEMBERS = ['apiVersion', 'cachesize', 'endpoint', 'name', 'timeout'];
const KEY_LENGTHS: Readonly<Record<LocalProvider, readonly number[]>> = {
  aescbc: [16, 24, 32],
  aesgcm: [16, 24, 32],
  secretbox: [32],
};
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const SOCKET_SCHEME = 'unix://';
const DEFAULT_TIMEOUT_MS = 3000;
const DEFAULT_CACHE_SIZE = 1000;
const MAX_CACHE_SIZE = 1_000_000;
const MAX_BYTES = 1024 * 1024;

const describe = (error: FieldError): string =>
  error.field === '' ? formatErrorDetail(error) : formatFieldError(error);

/** A name that becomes part of a prefix. */
function readName(section: Section): string {
  const name = section.text('name');
  if (name === '') section.report('FieldValueRequired', 'name', 'the name is part of every stored value');
  if (name.includes(':')) section.report('FieldValueInvalid', 'name', 'must not contain a colon', name);
  return name;
}

/** The secret itself never appears in an error. */
function readSecret(section: Section, lengths: readonly number[]): Buffer {
  const text = section.secret('secret').replaceAll(/\s/g, '');
  if (text === '') {
    section.report('FieldValueRequired', 'secret', `a random key of ${lengths.join(', ')} bytes in base64`);
    return Buffer.alloc(0);
  }
  if (text.length % 4 !== 0 || !BASE64.test(text)) {
    section.report('FieldValueInvalid', 'secret', 'must be base64');
    return Buffer.alloc(0);
  }
  const secret = Buffer.from(text, 'base64');
  if (!lengths.includes(secret.length))
    section.report(
      'FieldValueInvalid',
      'secret',
      `must be a key of ${lengths.join(', ')} bytes, not of ${secret.length}`,
    );
  return secret;
}

function readKeys(section: Section, kind: LocalProvider): ProviderConfig {
  const names = new Set<string>();
  const keys = section.sections('keys', ['name', 'secret']).map((each): KeyConfig => {
    const name = readName(each);
    if (names.has(name)) each.report('FieldValueDuplicate', 'name', '', name);
    names.add(name);
    return { name, secret: readSecret(each, KEY_LENGTHS[kind]) };
  });
  if (keys.length === 0) section.report('FieldValueRequired', 'keys', 'at least one key');
  return { kind, keys };
}

function readSocket(section: Section): string {
  const endpoint = section.text('endpoint');
  const socket = endpoint.slice(SOCKET_SCHEME.length);
  if (endpoint === '')
    section.report('FieldValueRequired', 'endpoint', 'the address of a socket: unix:///path');
  else if (!endpoint.startsWith(SOCKET_SCHEME) || !socket.startsWith('/') || socket.startsWith('/@'))
    section.report(
      'FieldValueInvalid',
      'endpoint',
      'must be the path of a unix socket: unix:///path',
      endpoint,
    );
  return socket;
}

function readTimeout(section: Section): number {
  const text = section.text('timeout');
  if (text === '') return DEFAULT_TIMEOUT_MS;
  try {
    const timeoutMs = parseDurationMs(text);
    if (timeoutMs > 0) return timeoutMs;
  } catch {
    // Reported below.
  }
  section.report('FieldValueInvalid', 'timeout', 'must be a positive duration such as 3s', text);
  return DEFAULT_TIMEOUT_MS;
}

function readCacheSize(section: Section, version: 'v1' | 'v2'): number {
  const value = section.value('cachesize');
  if (value === undefined || value === null) return DEFAULT_CACHE_SIZE;
  if (version === 'v2')
    section.report('FieldValueInvalid', 'cachesize', 'applies to providers of version v1 only', value);
  else if (
    typeof value !== 'number' ||
    !Number.isInteger(value) ||
    value === 0 ||
    Math.abs(value) > MAX_CACHE_SIZE
  )
    section.report(
      'FieldValueInvalid',
      'cachesize',
      `must be a whole number up to ${MAX_CACHE_SIZE}, or negative for no cache`,
      value,
    );
  else return Math.max(value, 0);
  return DEFAULT_CACHE_SIZE;
}

function readKms(section: Section): ProviderConfig {
  const apiVersion = section.text('apiVersion');
  if (!['', 'v1', 'v2'].includes(apiVersion))
    section.report('FieldValueNotSupported', 'apiVersion', 'must be v1 or v2', apiVersion);
  const version = apiVersion === 'v2' ? 'v2' : 'v1';
  return {
    kind: 'kms',
    version,
    name: readName(section),
    socket: readSocket(section),
    timeoutMs: readTimeout(section),
    cacheSize: readCacheSize(section, version),
  };
}

function readProvider(section: Section): readonly ProviderConfig[] {
  const named = PROVIDERS.filter((name) => section.value(name) !== undefined);
  if (named.length !== 1) {
    const detail = `must have one of ${PROVIDERS.join(', ')}`;
    section.report(named.length === 0 ? 'FieldValueRequired' : 'FieldValueInvalid', '', detail);
    return [];
  }
  const [kind] = named;
  switch (kind) {
    case 'aescbc':
    case 'aesgcm':
    case 'secretbox': {
      const keys = section.section(kind, ['keys']);
      if (keys === undefined) section.report('FieldValueRequired', kind, 'keys');
      return keys === undefined ? [] : [readKeys(keys, kind)];
    }
    case 'kms': {
      const kms = section.section(kind, KMS_MEMBERS);
      if (kms === undefined) section.report('FieldValueRequired', kind, 'name and endpoint');
      return kms === undefined ? [] : [readKms(kms)];
    }
    case 'identity':
    case undefined:
    default:
      section.section('identity', []);
      return [{ kind: 'identity' }];
  }
}

export interface ConfigurationContext {
  /** Domain of the API groups. */
  readonly domain: string;
  /** Resources of this server, without custom ones: `secrets`, `deployments.apps`. */
  readonly resources: ReadonlySet<string>;
}

const groupOf = (resource: string): string => resource.split('.').slice(1).join('.');

/** Custom resources may be defined later. A misspelt name would leave its objects without encryption. */
function reportUnknown(section: Section, names: readonly string[], known: ReadonlySet<string>): void {
  const groups = new Set([...known].map(groupOf));
  for (const [index, name] of names.entries()) {
    if (known.has(name) || !groups.has(groupOf(name))) continue;
    section.report('FieldValueNotSupported', `resources[${index}]`, 'the server has no such resource', name);
  }
}

function readRule(section: Section, { resources: known }: ConfigurationContext): ResourceRule {
  const resources = section.texts('resources');
  reportUnknown(section, resources, known);
  if (resources.length === 0)
    section.report('FieldValueRequired', 'resources', 'at least one resource such as secrets');
  const providers = section.sections('providers', PROVIDERS);
  if (providers.length === 0)
    section.report('FieldValueRequired', 'providers', `at least one of ${PROVIDERS.join(', ')}`);
  return { resources, providers: providers.flatMap(readProvider) };
}

/** Two providers of one version and name would read each other's values with different keys. */
function reportSharedNames(rules: readonly ResourceRule[], root: Section): void {
  const sockets = new Map<string, string>();
  for (const provider of rules.flatMap(({ providers }) => providers)) {
    if (provider.kind !== 'kms') continue;
    const id = `${provider.version}:${provider.name}`;
    const known = sockets.get(id) ?? provider.socket;
    sockets.set(id, known);
    if (known !== provider.socket)
      root.report(
        'FieldValueDuplicate',
        'resources',
        'two kms providers with different endpoints',
        provider.name,
      );
  }
}

function readRoot(root: Section, context: ConfigurationContext): readonly ResourceRule[] {
  const { domain } = context;
  const apiVersion = `apiserver.config.${domain}/v1`;
  if (root.text('apiVersion') !== apiVersion)
    root.report('FieldValueNotSupported', 'apiVersion', `must be ${apiVersion}`, root.text('apiVersion'));
  if (root.text('kind') !== 'EncryptionConfiguration')
    root.report('FieldValueNotSupported', 'kind', 'must be EncryptionConfiguration', root.text('kind'));
  const rules = root.sections('resources', ['resources', 'providers']).map((each) => readRule(each, context));
  if (rules.length === 0) root.report('FieldValueRequired', 'resources', 'at least one entry');
  reportSharedNames(rules, root);
  return rules;
}

/** @throws EncryptionConfigError with every error and its path */
export function parseEncryptionConfiguration(
  file: string,
  text: string,
  context: ConfigurationContext,
): readonly ResourceRule[] {
  const documents = parseDocuments(text, { maxBytes: MAX_BYTES });
  const syntax = documents.flatMap(({ errors }) => errors);
  if (syntax.length > 0) throw new EncryptionConfigError(file, syntax.map(describe));
  const [document, ...others] = documents.filter(({ value }) => value !== undefined && value !== null);
  if (document === undefined) throw new EncryptionConfigError(file, ['the file is empty']);
  if (others.length > 0) throw new EncryptionConfigError(file, ['must be one document']);
  const findings: Findings = { errors: [], warnings: [] };
  const rules = readRoot(
    openSection(document.value, '', ['apiVersion', 'kind', 'resources'], findings),
    context,
  );
  const errors = [...findings.errors, ...findings.warnings];
  if (errors.length > 0) throw new EncryptionConfigError(file, errors.map(describe));
  return rules;
}
