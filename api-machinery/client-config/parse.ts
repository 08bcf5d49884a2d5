/** Parser of client configuration files (platconfig), YAML or JSON. Pure: follows no path and does not check
 *  the meaning of values, so that errors in unused entries are harmless.
 *  Source: clientconfig/v1; client configuration, document 2 §5.3 and §5.8. */
import { parseDocuments } from '../codec/documents.ts';
import type { FieldError } from '../meta/field-error.ts';
import { type Findings, openSection, type Section } from './fields.ts';
import type {
  AuthProviderEntry,
  ClusterEntry,
  ContextEntry,
  ExecEntry,
  Named,
  ParsedClientConfig,
  UserEntry,
} from './model.ts';

/** Size limit of the file in bytes. */
export const MAX_CLIENT_CONFIG_BYTES: number = 1024 * 1024;

const ROOT_FIELDS = [
  'apiVersion',
  'kind',
  'preferences',
  'clusters',
  'users',
  'contexts',
  'current-context',
  'extensions',
];
const CLUSTER_FIELDS = [
  'server',
  'tls-server-name',
  'insecure-skip-tls-verify',
  'certificate-authority',
  'certificate-authority-data',
  'proxy-url',
  'extensions',
];
const USER_FIELDS = [
  'client-certificate',
  'client-certificate-data',
  'client-key',
  'client-key-data',
  'token',
  'tokenFile',
  'as',
  'as-uid',
  'as-groups',
  'as-user-extra',
  'username',
  'password',
  'auth-provider',
  'exec',
  'extensions',
];
const EXEC_FIELDS = [
  'command',
  'args',
  'env',
  'apiVersion',
  'installHint',
  'provideClusterInfo',
  'interactiveMode',
];
const CONTEXT_FIELDS = ['cluster', 'user', 'namespace', 'extensions'];

function readCluster(section: Section): ClusterEntry {
  const extensions = section.sections('extensions', ['name', 'extension']);
  return {
    server: section.text('server'),
    tlsServerName: section.text('tls-server-name'),
    insecureSkipTlsVerify: section.flag('insecure-skip-tls-verify'),
    authority: section.dataOrFile('certificate-authority'),
    // It may contain a password.
    proxyUrl: section.secret('proxy-url'),
    extensions: new Map(extensions.map((entry) => [entry.text('name'), entry.value('extension')])),
  };
}

function readExec(section: Section): ExecEntry {
  return {
    command: section.text('command'),
    args: section.texts('args'),
    env: section
      .sections('env', ['name', 'value'])
      .map((entry) => ({ name: entry.text('name'), value: entry.secret('value') })),
    apiVersion: section.text('apiVersion'),
    installHint: section.text('installHint'),
    provideClusterInfo: section.flag('provideClusterInfo'),
    interactiveMode: section.text('interactiveMode'),
  };
}

function readAuthProvider(section: Section): AuthProviderEntry {
  return { name: section.text('name'), config: section.textMap('config') };
}

function readUser(section: Section): UserEntry {
  const exec = section.section('exec', EXEC_FIELDS);
  const authProvider = section.section('auth-provider', ['name', 'config']);
  return {
    certificate: section.dataOrFile('client-certificate'),
    key: section.dataOrFile('client-key'),
    token: section.secret('token'),
    tokenFile: section.text('tokenFile'),
    impersonate: {
      user: section.text('as'),
      uid: section.text('as-uid'),
      groups: section.texts('as-groups'),
      extra: section.textsMap('as-user-extra'),
    },
    username: section.text('username'),
    password: section.secret('password'),
    ...(exec === undefined ? {} : { exec: readExec(exec) }),
    ...(authProvider === undefined ? {} : { authProvider: readAuthProvider(authProvider) }),
  };
}

function readContext(section: Section): ContextEntry {
  return {
    cluster: section.text('cluster'),
    user: section.text('user'),
    namespace: section.text('namespace'),
  };
}

interface ListKind<T> {
  /** Name of the list, and of its items' content. */
  readonly list: string;
  readonly item: string;
  readonly fields: readonly string[];
  readonly read: (section: Section) => T;
}

function readList<T>(root: Section, { list, item, fields, read }: ListKind<T>): readonly Named<T>[] {
  const seen = new Set<string>();
  return root.sections(list, ['name', item]).flatMap((section) => {
    const name = section.text('name');
    if (seen.has(name)) section.report('FieldValueDuplicate', 'name', 'each name must be given once', name);
    seen.add(name);
    const inner = section.section(item, fields);
    if (inner === undefined) {
      section.report('FieldValueRequired', item, `an object with ${fields.slice(0, 3).join(', ')} …`);
      return [];
    }
    return [{ name, path: inner.path, entry: read(inner) }];
  });
}

/** Upstream accepts a file without kind and apiVersion. */
function checkType(root: Section): void {
  const check = (field: string, wanted: string): void => {
    const found = root.text(field);
    if (found !== '' && found !== wanted) {
      root.report('FieldValueNotSupported', field, `must be ${wanted}`, found);
    }
  };
  check('kind', 'Config');
  check('apiVersion', 'v1');
}

function readRoot(value: unknown, file: string): ParsedClientConfig {
  const findings: Findings = { errors: [], warnings: [] };
  const root = openSection(value, '', ROOT_FIELDS, findings);
  checkType(root);
  const config = {
    file,
    clusters: readList(root, {
      list: 'clusters',
      item: 'cluster',
      fields: CLUSTER_FIELDS,
      read: readCluster,
    }),
    users: readList(root, { list: 'users', item: 'user', fields: USER_FIELDS, read: readUser }),
    contexts: readList(root, {
      list: 'contexts',
      item: 'context',
      fields: CONTEXT_FIELDS,
      read: readContext,
    }),
    currentContext: root.text('current-context'),
  };
  const { errors, warnings } = findings;
  return errors.length > 0 ? { kind: 'invalid', errors } : { kind: 'parsed', config, warnings };
}

/** Parses the text of `file`, whose name is only for messages. Reports all type errors at once; unknown
 *  fields are warnings. Never throws because of the content. */
export function parseClientConfig(text: string | Uint8Array, file: string): ParsedClientConfig {
  const documents = parseDocuments(text, { maxBytes: MAX_CLIENT_CONFIG_BYTES });
  const [first, second] = documents;
  const invalid = (errors: readonly FieldError[]): ParsedClientConfig => ({ kind: 'invalid', errors });
  if (first === undefined) {
    return invalid([{ kind: 'FieldValueRequired', field: '', detail: 'the file is empty' }]);
  }
  if (first.errors.length > 0) return invalid(first.errors);
  if (second !== undefined) {
    const detail = 'a client configuration must be one document; put the others into separate files';
    return invalid([{ kind: 'FieldValueTooMany', field: `line ${second.line}`, detail }]);
  }
  return readRoot(first.value, file);
}
