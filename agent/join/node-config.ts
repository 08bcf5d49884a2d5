/** Settings of a joined node in the agent configuration file: the node server authenticates clients by the
 *  cluster CA and by tokens, authorizes them through the API server, and uses a serving certificate of the
 *  cluster. Adds them without changing existing settings, and removes them again. Pure. */
import { isMap, parseDocument } from 'yaml';
import type { Vocabulary } from '#api/vocabulary.ts';
import { JoinError } from './errors.ts';

export interface NodeConfigOptions {
  /** PEM of the cluster CA, which authenticates clients. */
  readonly authorityFile: string;
}

type Value = boolean | number | string;

export interface MergedConfig {
  readonly text: string;
  /** Dotted paths of the added settings. */
  readonly added: readonly string[];
  /** Existing settings with another value: the value in the file and the one that the cluster needs. */
  readonly unchanged: readonly { readonly path: string; readonly has: string; readonly wants: string }[];
}

const HEADER =
  '# Written by `nodeagent join`. Flags win over it; `nodeagent config` prints what is in force.\n';

const wantedSettings = ({ authorityFile }: NodeConfigOptions): readonly (readonly [string, Value])[] => [
  ['authentication.anonymous.enabled', false],
  ['authentication.webhook.enabled', true],
  ['authentication.x509.clientCAFile', authorityFile],
  ['authorization.mode', 'Webhook'],
  ['readOnlyPort', 0],
  ['rotateCertificates', true],
  ['serverTLSBootstrap', true],
];

/** Parses a `yaml` stream for editing. @throws JoinError BadConfig */
function openDocument(text: string, file: string) {
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error !== undefined) {
    throw new JoinError(
      'BadConfig',
      `${file} is not YAML: ${error.message.split('\n')[0]}; correct it first`,
    );
  }
  if (document.contents !== null && !isMap(document.contents)) {
    throw new JoinError('BadConfig', `${file} must hold a mapping; correct it first`);
  }
  return document;
}

type ConfigDocument = ReturnType<typeof openDocument>;

/** Returns the value of a setting; empty sections count as missing. @throws JoinError BadConfig */
function valueAt(document: ConfigDocument, keys: readonly string[], file: string): unknown {
  for (let length = 1; length < keys.length; length += 1) {
    const above = keys.slice(0, length);
    const section: unknown = document.getIn(above, true);
    if (section === undefined) return undefined;
    if (isMap(section)) continue;
    // `authentication:` without a value.
    if (document.getIn(above) === null) {
      document.deleteIn(above);
      return undefined;
    }
    throw new JoinError('BadConfig', `${file}: ${above.join('.')} must be a mapping; correct it first`);
  }
  return document.getIn(keys) ?? undefined;
}

/** Keeps a JSON file in JSON. */
function textOf(document: ConfigDocument, before: string): string {
  const isJson = before.trimStart().startsWith('{');
  return document.toString({
    lineWidth: 0,
    ...(isJson ? { defaultKeyType: 'QUOTE_DOUBLE', defaultStringType: 'QUOTE_DOUBLE' } : {}),
  });
}

/** @param before text of the file; undefined if it does not exist @throws JoinError BadConfig */
export function mergeNodeConfig(
  before: string | undefined,
  { configApiGroup, configKind }: Pick<Vocabulary, 'configApiGroup' | 'configKind'>,
  options: NodeConfigOptions,
  file: string,
): MergedConfig {
  const document = openDocument(before ?? HEADER, file);
  const added: string[] = [];
  const unchanged: { path: string; has: string; wants: string }[] = [];
  const identity = [
    ['apiVersion', `${configApiGroup}/v1beta1`],
    ['kind', configKind],
  ] as const;
  for (const [key, value] of identity) {
    if (valueAt(document, [key], file) !== undefined) continue;
    document.setIn([key], value);
    added.push(key);
  }
  for (const [path, value] of wantedSettings(options)) {
    const keys = path.split('.');
    const there = valueAt(document, keys, file);
    if (there === undefined) {
      document.setIn(keys, value);
      added.push(path);
    } else if (there !== value) {
      unchanged.push({ path, has: JSON.stringify(there), wants: JSON.stringify(value) });
    }
  }
  return { text: added.length === 0 ? (before ?? '') : textOf(document, before ?? ''), added, unchanged };
}

/** Returns the text without the added settings, and without sections that become empty. */
export function withoutSettings(text: string, added: readonly string[], file: string): string {
  const document = openDocument(text, file);
  for (const path of added) {
    const keys = path.split('.');
    document.deleteIn(keys);
    for (let length = keys.length - 1; length > 0; length -= 1) {
      const section: unknown = document.getIn(keys.slice(0, length), true);
      if (isMap(section) && section.items.length === 0) document.deleteIn(keys.slice(0, length));
    }
  }
  return added.length === 0 ? text : textOf(document, text);
}
