/** The `exec` section of a user: what it must say, and how the credential plugin is then run. Pure.
 *  Source: document 2, section 5.8. */
import { basename, dirname, isAbsolute, join } from 'node:path';
import type { FieldError, FieldErrorKind } from '../meta/field-error.ts';
import { VOCABULARIES } from '../vocabulary.ts';
import type { ClusterEntry, EnvEntry, ExecEntry } from './model.ts';

export const INTERACTIVE_MODES = ['Never', 'IfAvailable', 'Always'] as const;
export type InteractiveMode = (typeof INTERACTIVE_MODES)[number];

/** What a plugin is told of the server. */
export interface ExecCluster {
  readonly server: string;
  readonly 'tls-server-name'?: string;
  readonly 'insecure-skip-tls-verify'?: boolean;
  readonly 'certificate-authority-data'?: string;
  readonly 'proxy-url'?: string;
  readonly config?: unknown;
}

/** A plugin as it is run. */
export interface ExecSpec {
  /** An absolute path, or a name that is looked up in PATH. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly EnvEntry[];
  /** Version in which the plugin is asked and must answer, in the file's own vocabulary. */
  readonly apiVersion: string;
  /** Variable that holds the request, in the vocabulary of `apiVersion`. */
  readonly infoVariable: string;
  readonly interactiveMode: InteractiveMode;
  /** Empty where there is none. */
  readonly installHint: string;
  /** Only where the plugin is to be told. */
  readonly cluster?: ExecCluster;
}

const GROUPS = Object.values(VOCABULARIES).map((words) => ({
  group: `client.authentication.${words.apiGroupDomain}`,
  infoVariable: words.execInfoVariable,
}));
const VERSIONS = GROUPS.flatMap(({ group, infoVariable }) =>
  ['v1', 'v1beta1'].map((version) => ({ apiVersion: `${group}/${version}`, version, infoVariable })),
);

/** Every fault of the section at `path`. */
export function checkExec(exec: ExecEntry, path: string): readonly FieldError[] {
  const faults: FieldError[] = [];
  const report = (kind: FieldErrorKind, name: string, detail: string, badValue?: string): void => {
    faults.push({ kind, field: `${path}.${name}`, detail, ...(badValue === undefined ? {} : { badValue }) });
  };
  if (exec.command === '') report('FieldValueRequired', 'command', 'the program that gives credentials');
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
  return faults;
}

/** A path with a slash starts at the configuration's folder; a bare name is for PATH. */
function locate(command: string, file: string): string {
  return isAbsolute(command) || command === basename(command) ? command : join(dirname(file), command);
}

/** What the plugin is told of the cluster: the extension for plugins is passed on as it stands. */
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

/** Source of a resolved plugin. */
export interface ExecSource {
  /** A section without faults. */
  readonly exec: ExecEntry;
  readonly cluster: ClusterEntry;
  /** PEM of the authority that the cluster names. */
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
