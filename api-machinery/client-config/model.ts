/** Content of a client configuration file after its types were checked. Nothing is resolved here.
 *  Source: clientconfig/v1; client configuration, document 2 §5.3 and §5.8. */
import type { FieldError } from '../meta/field-error.ts';

/** Bytes in the file itself or in a separate file. If both are given, `data` wins. */
export interface DataOrFile {
  /** Decoded text. */
  readonly data?: string;
  /** As written: relative paths start at the configuration's directory. */
  readonly file?: string;
}

export interface ClusterEntry {
  readonly server: string;
  readonly tlsServerName: string;
  readonly insecureSkipTlsVerify: boolean;
  readonly authority: DataOrFile;
  readonly proxyUrl: string;
  /** By name. */
  readonly extensions: ReadonlyMap<string, unknown>;
}

export interface EnvEntry {
  readonly name: string;
  readonly value: string;
}

export interface ExecEntry {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly EnvEntry[];
  readonly apiVersion: string;
  readonly installHint: string;
  readonly provideClusterInfo: boolean;
  /** Empty if not specified. */
  readonly interactiveMode: string;
}

export interface AuthProviderEntry {
  readonly name: string;
  readonly config: Readonly<Record<string, string>>;
}

/** The user to impersonate. */
export interface Impersonation {
  readonly user: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export interface UserEntry {
  readonly certificate: DataOrFile;
  readonly key: DataOrFile;
  readonly token: string;
  readonly tokenFile: string;
  readonly impersonate: Impersonation;
  readonly username: string;
  readonly password: string;
  readonly authProvider?: AuthProviderEntry;
  readonly exec?: ExecEntry;
}

export interface ContextEntry {
  readonly cluster: string;
  readonly user: string;
  readonly namespace: string;
}

/** An entry of a list, with the path for its validation errors: `users[0].user`. */
export interface Named<T> {
  readonly name: string;
  readonly path: string;
  readonly entry: T;
}

export interface ClientConfig {
  /** Path of the file; relative paths start at its directory. */
  readonly file: string;
  readonly clusters: readonly Named<ClusterEntry>[];
  readonly users: readonly Named<UserEntry>[];
  readonly contexts: readonly Named<ContextEntry>[];
  readonly currentContext: string;
}

export type ParsedClientConfig =
  | { readonly kind: 'parsed'; readonly config: ClientConfig; readonly warnings: readonly FieldError[] }
  | { readonly kind: 'invalid'; readonly errors: readonly FieldError[] };
