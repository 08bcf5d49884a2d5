/** Resolution of a context of a client configuration to connection settings. Files are read through an
 *  injected function. Source: client configuration, document 2 §5.3 and §5.8. */

import { dirname, resolve } from 'node:path';
import { asError } from '../kit/errno.ts';
import { trimEnd } from '../kit/text/trim-end.ts';
import type { FieldError } from '../meta/field-error.ts';
import { parsePem } from '../pki/pem.ts';
import { checkCluster, checkUser, readServer } from './check.ts';
import { ClientConfigError } from './error.ts';
import { type ExecSpec, resolveExec } from './exec-spec.ts';
import type {
  ClientConfig,
  ClusterEntry,
  ContextEntry,
  DataOrFile,
  Impersonation,
  Named,
  UserEntry,
} from './model.ts';
import { type OidcSpec, oidcAuthorityFile, resolveOidc } from './oidc-spec.ts';

/** A PEM text, or the path of a file whose content may change. */
export type PemSource =
  | { readonly kind: 'data'; readonly pem: string }
  | { readonly kind: 'file'; readonly path: string };

/** Credentials of requests. Missing ones are undefined. */
export interface UserCredentials {
  readonly certificate?: { readonly certificate: PemSource; readonly key: PemSource };
  /** The file takes precedence over the token, which is used while the file is unreadable. */
  readonly bearer?: { readonly token: string; readonly tokenFile?: string };
  readonly basic?: { readonly username: string; readonly password: string };
  readonly exec?: ExecSpec;
  readonly oidc?: OidcSpec;
}

export interface ResolvedClientConfig {
  readonly file: string;
  /** Name of the user's entry, to which renewed tokens are written; empty for none. */
  readonly userName: string;
  /** Without a trailing slash. */
  readonly server: string;
  /** Namespace of requests without one; `default` if the context names none. */
  readonly namespace: string;
  readonly tls: {
    /** PEM; undefined selects the system's authorities. */
    readonly authority?: string;
    readonly serverName?: string;
    readonly insecure: boolean;
  };
  /** Includes its credentials, if any. */
  readonly proxyUrl?: string;
  readonly impersonate?: Impersonation;
  readonly credentials: UserCredentials;
}

export interface ResolveDeps {
  /** Reads a text file. */
  readonly readFile: (path: string) => Promise<string>;
}

export interface ResolveOptions {
  /** Default: the file's `current-context`. */
  readonly context?: string;
}

interface Chosen {
  readonly cluster: Named<ClusterEntry>;
  /** Undefined for a context without a user: requests are anonymous. */
  readonly user: Named<UserEntry> | undefined;
  readonly context: ContextEntry;
}

const names = (entries: readonly Named<unknown>[]): string =>
  entries.length === 0 ? 'the file has none' : `the file has ${entries.map(({ name }) => name).join(', ')}`;

/** @throws ClientConfigError */
function choose(config: ClientConfig, requested: string | undefined): Chosen {
  const fail = (error: FieldError): never => {
    throw new ClientConfigError(config.file, [error]);
  };
  const name = requested ?? config.currentContext;
  const field = requested === undefined ? 'current-context' : 'contexts';
  const available = names(config.contexts);
  if (name === '')
    return fail({ kind: 'FieldValueRequired', field, detail: `the name of a context; ${available}` });
  const found = config.contexts.find((context) => context.name === name);
  if (found === undefined) {
    return fail({
      kind: 'FieldValueNotFound',
      field,
      badValue: name,
      detail: `no such context; ${available}`,
    });
  }
  const { entry: context, path } = found;
  const cluster = config.clusters.find((entry) => entry.name === context.cluster);
  const user = config.users.find((entry) => entry.name === context.user);
  const missing: FieldError[] = [];
  const miss = (member: string, badValue: string, entries: readonly Named<unknown>[]): void => {
    const detail = `no such ${member}; ${names(entries)}`;
    missing.push({ kind: 'FieldValueNotFound', field: `${path}.${member}`, badValue, detail });
  };
  if (cluster === undefined) miss('cluster', context.cluster, config.clusters);
  if (user === undefined && context.user !== '') miss('user', context.user, config.users);
  if (cluster === undefined || missing.length > 0) throw new ClientConfigError(config.file, missing);
  return { cluster, user, context };
}

interface Reader {
  readonly errors: FieldError[];
  /** Returns the text, or undefined after reporting an error. */
  read(path: string, field: string): Promise<string | undefined>;
}

function createReader(deps: ResolveDeps): Reader {
  const errors: FieldError[] = [];
  return {
    errors,
    async read(path, field) {
      try {
        return await deps.readFile(path);
      } catch (thrown) {
        const detail = `the file must be readable: ${asError(thrown).message}`;
        errors.push({ kind: 'FieldValueInvalid', field, badValue: path, detail });
        return undefined;
      }
    },
  };
}

/** Reads a PEM text and checks that it has a block of the right kind. */
async function readPem(
  reader: Reader,
  source: DataOrFile,
  place: { readonly field: string; readonly folder: string; readonly label: string },
): Promise<{ readonly pem: string; readonly source: PemSource } | undefined> {
  const { field, folder, label } = place;
  const path = source.file === undefined ? undefined : resolve(folder, source.file);
  const isData = source.data !== undefined;
  if (!isData && path === undefined) return undefined;
  const pem = source.data ?? (path === undefined ? undefined : await reader.read(path, field));
  if (pem === undefined) return undefined;
  if (!parsePem(pem).some((block) => block.label.endsWith(label))) {
    const detail = `must have a PEM block ${label}`;
    const at = isData ? { field: `${field}-data` } : { field, badValue: path };
    reader.errors.push({ kind: 'FieldValueInvalid', ...at, detail });
  }
  return { pem, source: isData || path === undefined ? { kind: 'data', pem } : { kind: 'file', path } };
}

interface UserPlace {
  readonly reader: Reader;
  readonly config: ClientConfig;
  readonly cluster: ClusterEntry;
  readonly authority: string | undefined;
}

async function readCertificate(place: UserPlace, user: Named<UserEntry>): Promise<UserCredentials> {
  const { reader, config } = place;
  const folder = dirname(config.file);
  const certificate = await readPem(reader, user.entry.certificate, {
    field: `${user.path}.client-certificate`,
    folder,
    label: 'CERTIFICATE',
  });
  const key = await readPem(reader, user.entry.key, {
    field: `${user.path}.client-key`,
    folder,
    label: 'PRIVATE KEY',
  });
  if (certificate === undefined || key === undefined) return {};
  return { certificate: { certificate: certificate.source, key: key.source } };
}

async function readBearer(place: UserPlace, user: Named<UserEntry>): Promise<UserCredentials> {
  const { token, tokenFile } = user.entry;
  if (token === '' && tokenFile === '') return {};
  if (tokenFile === '') return { bearer: { token } };
  const path = resolve(dirname(place.config.file), tokenFile);
  const found = token === '' ? await place.reader.read(path, `${user.path}.tokenFile`) : token;
  if (found?.trim() === '') {
    const detail = 'the file must have a token';
    place.reader.errors.push({
      kind: 'FieldValueInvalid',
      field: `${user.path}.tokenFile`,
      badValue: path,
      detail,
    });
  }
  return { bearer: { token, tokenFile: path } };
}

async function readOidc(place: UserPlace, user: Named<UserEntry>): Promise<UserCredentials> {
  const { authProvider } = user.entry;
  if (authProvider === undefined) return {};
  const path = oidcAuthorityFile(authProvider, place.config.file);
  const field = `${user.path}.auth-provider.config.idp-certificate-authority`;
  const authority = path === undefined ? undefined : await place.reader.read(path, field);
  return { oidc: resolveOidc(authProvider, authority) };
}

async function readCredentials(
  place: UserPlace,
  user: Named<UserEntry> | undefined,
): Promise<UserCredentials> {
  if (user === undefined) return {};
  const { username, password, exec } = user.entry;
  const { config, cluster, authority } = place;
  return {
    ...(await readCertificate(place, user)),
    ...(await readBearer(place, user)),
    ...(username === '' ? {} : { basic: { username, password } }),
    ...(exec === undefined ? {} : { exec: resolveExec({ exec, cluster, authority, file: config.file }) }),
    ...(await readOidc(place, user)),
  };
}

/** Returns the connection settings of a context. Files of certificates, keys and tokens are checked, so that
 *  errors are reported at once, but their content is not retained: they may change.
 *  @throws ClientConfigError with every validation error of the chosen entries */
export async function resolveClientConfig(
  config: ClientConfig,
  deps: ResolveDeps,
  options: ResolveOptions = {},
): Promise<ResolvedClientConfig> {
  const { cluster, user, context } = choose(config, options.context);
  const errors = [...checkCluster(cluster), ...(user === undefined ? [] : checkUser(user))];
  const url = readServer(cluster.entry);
  if (errors.length > 0 || url === undefined) throw new ClientConfigError(config.file, errors);
  const reader = createReader(deps);
  const authority = await readPem(reader, cluster.entry.authority, {
    field: `${cluster.path}.certificate-authority`,
    folder: dirname(config.file),
    label: 'CERTIFICATE',
  });
  const place = { reader, config, cluster: cluster.entry, authority: authority?.pem };
  const credentials = await readCredentials(place, user);
  if (reader.errors.length > 0) throw new ClientConfigError(config.file, reader.errors);
  const { tlsServerName, insecureSkipTlsVerify, proxyUrl } = cluster.entry;
  const impersonate = user?.entry.impersonate;
  return {
    file: config.file,
    userName: user?.name ?? '',
    server: trimEnd(url.href, '/'),
    namespace: context.namespace === '' ? 'default' : context.namespace,
    tls: {
      ...(authority === undefined ? {} : { authority: authority.pem }),
      ...(tlsServerName === '' ? {} : { serverName: tlsServerName }),
      insecure: insecureSkipTlsVerify,
    },
    ...(proxyUrl === '' ? {} : { proxyUrl }),
    ...(impersonate === undefined || impersonate.user === '' ? {} : { impersonate }),
    credentials,
  };
}
