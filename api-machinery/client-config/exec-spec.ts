/** The `exec` section of a user: its validation, and the resulting invocation of the credential plugin. Pure.
 *  Source: credential plugins, document 2 §5.8. */
import { basename, dirname, isAbsolute, join } from 'node:path';
import type { FieldError, FieldErrorKind } from '../meta/field-error.ts';
import { VOCABULARIES } from '../vocabulary.ts';
import type { ClusterEntry, EnvEntry, ExecEntry } from './model.ts';

const INTERACTIVE_MODES = ['Never', 'IfAvailable', 'Always'] as const;
export type InteractiveMode = (typeof INTERACTIVE_MODES)[number];

/** Cluster information passed to a plugin. */
export interface ExecCluster {
  readonly server: string;
  readonly 'tls-server-name'?: string;
  readonly 'insecure-skip-tls-verify'?: boolean;
  readonly 'certificate-authority-data'?: string;
  readonly 'proxy-url'?: string;
  readonly config?: unknown;
}

/** Invocation of a plugin. */
export interface ExecSpec {
  /** An absolute path, or a name that is looked up in PATH. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly EnvEntry[];
  /** Version of request and response, in the vocabulary of the file. */
  readonly apiVersion: string;
  /** Environment variable that contains the request, in the vocabulary of `apiVersion`. */
  readonly infoVariable: string;
  readonly interactiveMode: InteractiveMode;
  /** Empty if there is none. */
  readonly installHint: string;
  /** Only if the plugin requests it. */
  readonly cluster?: ExecCluster;
}

const GROUPS = Object.values(VOCABULARIES).map((vocabulary) => ({
  group: `client.authentication.${vocabulary.apiGroupDomain}`,
  infoVariable: vocabulary.execInfoVariable,
}));
const VERSIONS = GROUPS.flatMap(({ group, infoVariable }) =>
  ['v1', 'v1beta1'].map((version) => ({ apiVersion: `${group}/${version}`, version, infoVariable })),
);

/** Returns every validation error of the section at `path`. */
export function checkExec(exec: ExecEntry, path: string): readonly FieldError[] {
  const errors: FieldError[] = [];
  const report = (kind: FieldErrorKind, name: string, detail: string, badValue?: string): void => {
    errors.push({ kind, field: `${path}.${name}`, detail, ...(badValue === undefined ? {} : { badValue }) });
  };
  if (exec.command === '') report('FieldValueRequired', 'command', 'the program that returns credentials');
  if (exec.command.includes('\0')) report('FieldValueInvalid', 'command', 'must not contain a NUL character');
  const known = VERSIONS.find(({ apiVersion }) => apiVersion === exec.apiVersion);
  const versions = VERSIONS.map(({ apiVersion }) => apiVersion).join(', ');
  if (exec.apiVersion === '') report('FieldValueRequired', 'apiVersion', `one of ${versions}`);
  else if (known === undefined) {
    report('FieldValueNotSupported', 'apiVersion', `supported values: ${versions}`, exec.apiVersion);
  }
  const modes = INTERACTIVE_MODES.join(', ');
  if (exec.interactiveMode === '' && known?.version === 'v1') {
    report('FieldValueRequired', 'interactiveMode', `one of ${modes}; ${known.apiVersion} has no default`);
  } else if (
    exec.interactiveMode !== '' &&
    !INTERACTIVE_MODES.some((mode) => mode === exec.interactiveMode)
  ) {
    report('FieldValueNotSupported', 'interactiveMode', `supported values: ${modes}`, exec.interactiveMode);
  }
  for (const [index, { name, value }] of exec.env.entries()) {
    const fine = /^[^=\0]+$/.test(name);
    if (!fine) report('FieldValueInvalid', `env[${index}].name`, 'name of a variable, without "="', name);
    if (value.includes('\0'))
      report('FieldValueInvalid', `env[${index}].value`, 'must not contain a NUL character');
  }
  for (const [index, arg] of exec.args.entries()) {
    if (arg.includes('\0')) report('FieldValueInvalid', `args[${index}]`, 'must not contain a NUL character');
  }
  return errors;
}

/** A path with a slash is relative to the configuration's directory; a bare name is looked up in PATH. */
function locate(command: string, file: string): string {
  return isAbsolute(command) || command === basename(command) ? command : join(dirname(file), command);
}

/** Returns the cluster information for the plugin, including the cluster's extension for plugins
 *  unchanged. */
function describeCluster(cluster: ClusterEntry, authority: string | undefined): ExecCluster {
  const config = GROUPS.map(({ group }) => cluster.extensions.get(`${group}/exec`)).find(
    (extension) => extension !== undefined,
  );
  return {
    server: cluster.server,
    ...(cluster.tlsServerName === '' ? {} : { 'tls-server-name': cluster.tlsServerName }),
    ...(cluster.insecureSkipTlsVerify ? { 'insecure-skip-tls-verify': true } : {}),
    ...(authority === undefined
      ? {}
      : { 'certificate-authority-data': Buffer.from(authority).toString('base64') }),
    ...(cluster.proxyUrl === '' ? {} : { 'proxy-url': cluster.proxyUrl }),
    ...(config === undefined ? {} : { config }),
  };
}

/** Input for resolving a plugin. */
export interface ExecSource {
  /** A valid section. */
  readonly exec: ExecEntry;
  readonly cluster: ClusterEntry;
  /** PEM of the cluster's certificate authority. */
  readonly authority: string | undefined;
  /** The configuration's file. */
  readonly file: string;
}

export function resolveExec({ exec, cluster, authority, file }: ExecSource): ExecSpec {
  const { args, env, apiVersion, installHint, provideClusterInfo } = exec;
  return {
    command: locate(exec.command, file),
    args,
    env,
    apiVersion,
    infoVariable: VERSIONS.find((known) => known.apiVersion === apiVersion)?.infoVariable ?? '',
    interactiveMode: INTERACTIVE_MODES.find((mode) => mode === exec.interactiveMode) ?? 'IfAvailable',
    installHint,
    ...(provideClusterInfo ? { cluster: describeCluster(cluster, authority) } : {}),
  };
}
