/** Settings that a joined node needs in the agent's configuration file: its server authenticates clients by the
 *  cluster's authority and tokens, asks the API server what they may do, and shows a certificate of the cluster. Added
 *  to a file that is there without touching what it says already, and removed again. Pure. */
import { isMap, parseDocument } from 'yaml';
import type { Vocabulary } from '#api/vocabulary.ts';
import { JoinError } from './errors.ts';

export interface NodeConfigOptions {
  /** PEM of the authority of the cluster, by which its clients are known. */
  readonly authorityFile: string;
}

type Value = boolean | number | string;

export interface MergedConfig {
  readonly text: string;
  /** Dotted paths of the settings that were added. */
  readonly added: readonly string[];
  /** Settings that the file has otherwise, with what the file says and what the cluster needs. */
  readonly kept: readonly { readonly path: string; readonly has: string; readonly wants: string }[];
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

/** A stream of `yaml` that is opened for editing. @throws JoinError BadConfig */
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

/** The value of a setting; sections that hold nothing count as missing. @throws JoinError BadConfig */
function valueAt(document: ConfigDocument, keys: readonly string[], file: string): unknown {
  for (let length = 1; length < keys.length; length += 1) {
    const above = keys.slice(0, length);
    const section: unknown = document.getIn(above, true);
    if (section === undefined) return undefined;
    if (isMap(section)) continue;
    // `authentication:` with nothing behind it.
    if (document.getIn(above) === null) {
      document.deleteIn(above);
      return undefined;
    }
    throw new JoinError('BadConfig', `${file}: ${above.join('.')} must be a mapping; correct it first`);
  }
  return document.getIn(keys) ?? undefined;
}

/** JSON stays JSON. */
function textOf(document: ConfigDocument, before: string): string {
  const isJson = before.trimStart().startsWith('{');
  return document.toString({
    lineWidth: 0,
    ...(isJson ? { defaultKeyType: 'QUOTE_DOUBLE', defaultStringType: 'QUOTE_DOUBLE' } : {}),
  });
}

/** @param before text of the file; undefined where there is none @throws JoinError BadConfig */
export function mergeNodeConfig(
  before: string | undefined,
  { configApiGroup, configKind }: Pick<Vocabulary, 'configApiGroup' | 'configKind'>,
  options: NodeConfigOptions,
  file: string,
): MergedConfig {
  const document = openDocument(before ?? HEADER, file);
  const added: string[] = [];
  const kept: { path: string; has: string; wants: string }[] = [];
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
      kept.push({ path, has: JSON.stringify(there), wants: JSON.stringify(value) });
    }
  }
  return { text: added.length === 0 ? (before ?? '') : textOf(document, before ?? ''), added, kept };
}

/** The text without settings that were added, and without sections that this leaves empty. */
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
